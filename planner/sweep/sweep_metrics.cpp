// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep_metrics.hpp"

#include <algorithm>
#include <utility>

#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {

bool more_is_better(std::string_view path) {
  const auto found = quantities().find(path);
  return found && found->quantity->more_is_better;
}

std::vector<std::string> default_metrics() {
  return {"step.time_s",       "step.low_s",  "step.high_s",    "mfu",     "tokens_per_s",
          "memory.peak_bytes", "run.ideal_s", "cost.gpu_hours", "cost.usd"};
}

std::vector<std::string> split_metrics(const std::string& list) {
  std::vector<std::string> names(1);
  for (const char c : list) {
    if (c == ',')
      names.emplace_back();
    else if (c != ' ')
      names.back() += c;
  }
  if (std::find(names.begin(), names.end(), "") != names.end())
    throw UsageError("--metrics: a name is empty; write for example step.time_s,mfu");
  return names;
}

SweepMetrics::SweepMetrics(std::vector<std::string> paths, const Quantities& table)
    : paths_(std::move(paths)) {
  if (paths_.empty()) throw UsageError("--metrics: no name is given");
  for (const std::string& path : paths_) {
    const auto found = table.find(path);
    if (!found || !found->quantity->is_number() || path.starts_with("provenance."))
      throw UsageError("--metrics: " + in_quotes(path) +
                       " is not a number of the forecast (foretrain explain SCENARIO lists them)" +
                       nearest_hint(path, table.number_paths()));
    if (std::count(paths_.begin(), paths_.end(), path) > 1)
      throw UsageError("--metrics: " + path + " is listed twice");
    metrics_.push_back(*found);
  }
}

std::vector<std::optional<double>> SweepMetrics::of(const Prediction& prediction) const {
  std::vector<std::optional<double>> result;
  for (const QuantityAt& metric : metrics_) result.push_back(metric.number(prediction));
  return result;
}

}  // namespace foretrain
