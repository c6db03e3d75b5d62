// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>

#include "planner/answer/value_rows.hpp"
#include "planner/text/text_layout.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "sim/step/neighbour_run.hpp"

namespace foretrain {

/// Two scenarios that train side by side.
struct NeighbourReport {
  std::string first;  ///< names
  std::string other;
  int hosts = 0;  ///< of the fabric
  NeighbourRun run;
};

/// Plays both on the fabric of the first.
/// @return why not, also where one of them cannot run alone
/// @throws UsageError where the fabric cannot be built
[[nodiscard]] std::variant<NeighbourReport, Infeasible> evaluate_neighbours(
    const Scenario& first, const Scenario& other, const NeighbourOptions& options = {});

[[nodiscard]] std::string neighbour_text(const NeighbourReport& report, const TextStyle& style);
/// JSON, schema neighbour/1 (planner/schemas/neighbour.schema.json).
[[nodiscard]] std::string neighbour_json(const NeighbourReport& report);
[[nodiscard]] const ValueRows& neighbour_document();

}  // namespace foretrain
