// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace foretrain
