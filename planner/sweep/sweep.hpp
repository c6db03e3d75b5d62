// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/base/prediction.hpp"
#include "planner/sweep/sweep_grid.hpp"
#include "planner/sweep/sweep_row.hpp"
#include "scenarios/resolve/scenario_family.hpp"

namespace foretrain {

/// What a sweep asks.
struct SweepQuestion {
  FamilyBase base;
  SweepGrid grid;
  EngineKind engine = EngineKind::closed_form;
  std::vector<std::string> metrics{};  ///< empty: default_metrics()
  std::string program;  ///< version and build: results of two programs are never mixed
};

/// What tells one sweep from another, and what its results have besides rows: names and values, in
/// a fixed order. Values are text; "axes" and "metrics" are JSON.
using SweepHeader = std::vector<std::pair<std::string, std::string>>;

/// Forecasts the points of a sweep, in any order. What a point gives depends on nothing else.
class Sweep {
 public:
  /// @throws ScenarioError, UsageError for what is wrong with the whole sweep
  explicit Sweep(SweepQuestion question);

  [[nodiscard]] const SweepQuestion& question() const { return question_; }
  [[nodiscard]] const SweepHeader& header() const { return header_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// The values of a point's keys, in the order of grid.keys().
  [[nodiscard]] std::vector<std::string> values_of(std::int64_t point) const;
  /// @pre 0 <= point < size()
  [[nodiscard]] SweepRow forecast(std::int64_t point);

 private:
  [[nodiscard]] Scenario scenario_at(std::int64_t point) const;
  void forecast_study(SweepRow& row) const;

  SweepQuestion question_;
  std::int64_t size_;
  ScenarioFamily family_;
  SweepMetrics metrics_;
  std::vector<std::size_t> chosen_;
  SweepHeader header_;
};

}  // namespace foretrain
