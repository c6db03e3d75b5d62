// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/forecast/path_forecast.hpp"
#include "planner/answer/value_rows.hpp"
#include "planner/forecast/report.hpp"
#include "planner/step/trace.hpp"
#include "planner/text/text_layout.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "sim/step/event_run.hpp"
#include "sim/step/neighbour_run.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// A scenario by the event engine.
struct EventReport {
  Report report;
  Fabric fabric;
  std::optional<EventRun> run;  ///< absent where the plan cannot run
};

/// The step that was played, for pictures and its power.
[[nodiscard]] StepPath played_path(const EventRun& run);

/// Forecasts a scenario by playing its step on its fabric. The budget is not judged here.
/// @throws UsageError where the fabric cannot be built
[[nodiscard]] EventReport evaluate_event(const Scenario& scenario, AttentionFlops convention,
                                         const EventOptions& options = {});

/// What is known of a run that was stopped: how far it came, links so far.
[[nodiscard]] std::string stopped_text(const EventReport& report, const ReplayProgress& progress,
                                       const TextStyle& style);

/// How the step was played, in a line: replicas, events, detail.
[[nodiscard]] std::string played_text(const EventReport& report);

/// Use of the watched links over time, in percent of their rate.
[[nodiscard]] std::vector<TraceCounter> link_counters(const EventReport& report);

/// The fabric coloured by the use of its links. @param caption in place of what the colours are
/// @pre the run is there
[[nodiscard]] Scene heat_chart(const EventReport& report, const std::string& caption = {});

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
