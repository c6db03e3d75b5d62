// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/names.hpp"
#include "planner/answer/quantity.hpp"
#include "planner/answer/study.hpp"
#include "scenarios/yaml/load_options.hpp"

namespace foretrain {

/// Numbers of a forecast by their paths in its JSON, as budgets address them: of training, or of a
/// scenario that serves or post-trains.
class SweepMetrics {
 public:
  /// @throws UsageError for a path that is no number of a forecast, naming the nearest, for one
  ///   that is listed twice, and for an empty list.
  explicit SweepMetrics(std::vector<std::string> paths, const Quantities& table = quantities());
  /// @pre work is not training
  SweepMetrics(std::vector<std::string> paths, Work work);

  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }
  /// In the order of paths(); nothing where the JSON has null or no such stage.
  [[nodiscard]] std::vector<std::optional<double>> of(const Prediction& prediction) const;
  [[nodiscard]] std::vector<std::optional<double>> of(const Study& study) const;

 private:
  std::vector<std::string> paths_;
  std::vector<QuantityAt> metrics_;
};

/// Whether more of a number is better (ValueRow::more_is_better). Of all others people want
/// the least first, times and costs above all.
[[nodiscard]] bool more_is_better(std::string_view path);

/// What a sweep keeps of a forecast unless told otherwise.
[[nodiscard]] std::vector<std::string> default_metrics(Work work = Work::training);

/// Cuts "step.time_s, mfu" at its commas. @throws UsageError for an empty name
[[nodiscard]] std::vector<std::string> split_metrics(const std::string& list);

/// What became of a point of a sweep.
enum class PointStatus {
  ok,
  infeasible,  ///< the plan breaks a rule or does not fit
  invalid,     ///< the values contradict each other or the catalogs
  failed,      ///< no answer: a crash or a time-out of ours
};
FORETRAIN_ENUM_NAMES(PointStatus, {PointStatus::ok, "ok"}, {PointStatus::infeasible, "infeasible"},
                     {PointStatus::invalid, "invalid"}, {PointStatus::failed, "failed"});

/// The result of one point.
struct SweepRow {
  std::int64_t point = 0;
  std::string hash;  ///< of the resolved scenario, the program and the engine; empty where failed
  PointStatus status = PointStatus::ok;
  std::string rule;    ///< rules that were broken, "crash", "time-out" or "internal-error"
  std::string reason;  ///< in words; empty where ok
  std::vector<std::optional<double>> metrics;
};

/// Appends a row in the form that passes through pipes and messages between processes of one
/// machine type: a length, then the fields.
void encode_row(const SweepRow& row, std::string& bytes);

/// Takes the whole rows off the front of `bytes`; a row that is not complete yet stays.
[[nodiscard]] std::vector<SweepRow> decode_rows(std::string& bytes);

}  // namespace foretrain
