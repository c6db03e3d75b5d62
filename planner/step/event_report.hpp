// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/forecast/path_forecast.hpp"
#include "planner/forecast/report.hpp"
#include "planner/step/trace.hpp"
#include "planner/text/text_layout.hpp"
#include "sim/step/event_run.hpp"
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

}  // namespace foretrain
