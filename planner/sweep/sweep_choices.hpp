// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "models/inputs/job.hpp"
#include "planner/sweep/sweep.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// An axis that people vary, with values around the scenario's own.
struct SweepChoice {
  std::string key;                  ///< e.g. "parallel.tensor"
  std::vector<std::string> values;  ///< as for --vary, two or more
  std::string own;                  ///< what the scenario has
};

/// Axes of the plan as a search tries them, the global batch and the number of hosts doubled and
/// halved.
[[nodiscard]] std::vector<SweepChoice> sweep_choices(const Scenario& scenario);

/// Two axes and a number: what a map shows. Points count row by row: rows * columns of them.
struct MapQuestion {
  SweepChoice columns;
  SweepChoice rows;
  std::string metric;  ///< path of the JSON, e.g. "step.time_s"
};

/// A number that a map can show.
struct MapMetric {
  const char* path;
  const char* name;
  bool less_is_better;
};
[[nodiscard]] std::span<const MapMetric> map_metrics();

/// The sweep of a map: data-parallel ranks are what the machine has left, and sequence parallelism
/// goes with tensor parallelism where the scenario has it.
/// @throws ScenarioError, UsageError
[[nodiscard]] SweepQuestion sweep_of_map(const Scenario& scenario, const MapQuestion& map);

/// The settings of a point, as for --set, the data-parallel ranks that are left included.
[[nodiscard]] std::vector<std::string> map_settings(const Scenario& scenario,
                                                    const MapQuestion& map, std::size_t column,
                                                    std::size_t row);

/// A map with its numbers.
struct SweepMap {
  MapQuestion question;
  const MapMetric* metric = nullptr;
  std::vector<SweepRow> cells;  ///< row by row
  std::optional<std::size_t> best;
  double least = 0.0;
  double most = 0.0;
};
/// @pre question.metric is one of map_metrics(). `stop` ends it: then cells are missing
[[nodiscard]] SweepMap sweep_map(const Scenario& scenario, const MapQuestion& question,
                                 const std::stop_token& stop = {});

struct Scene;
struct SceneSpace;
/// A cell per combination, as hot as it is good, the best and the scenario's own outlined, what
/// cannot run hatched with the rule that it breaks. @pre the map has all cells
[[nodiscard]] Scene map_chart(const SweepMap& map, const Scenario& scenario,
                              const SceneSpace& space);
[[nodiscard]] std::string map_csv(const SweepMap& map);

}  // namespace foretrain
