// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/forecast/path_forecast.hpp"
#include "planner/cli/ask/step_views.hpp"
#include "planner/page/replay_page.hpp"
#include "planner/step/event_report.hpp"
#include "planner/step/link_causes.hpp"

namespace foretrain {

/// What only --engine event knows.
struct EventCliOptions {
  bool unfold = false;
  std::string heat;    ///< draw the use of links into this file
  std::string replay;  ///< the same moment by moment
  std::optional<std::uint64_t> seed;
  bool progress = false;  ///< lines on standard error, for programs
  std::string neighbour;  ///< scenario that trains on the same fabric
  int neighbour_steps = NeighbourOptions{}.steps;

  [[nodiscard]] bool given() const {
    return unfold || progress || !heat.empty() || !replay.empty() || seed.has_value() ||
           !neighbour.empty();
  }
};

/// Adds --unfold, --seed, --progress, --heat, --replay, --neighbour and --neighbour-steps.
void add_event_options(CommandRow& command, EventCliOptions& options);

/// What --heat and --replay ask for. @throws UsageError
void check_event_options(const EventCliOptions& options);

/// A scenario played on its fabric: with a bar on a terminal when it takes long, and until Ctrl-C.
struct EventSimulation {
  EventReport event;
  std::optional<ReplayProgress> interrupted;  ///< by Ctrl-C
  std::optional<StepPath> path;               ///< for charts and traces
  std::optional<StepReplay> replay;  ///< where options.replay asks for it and it was played
};
[[nodiscard]] EventSimulation simulate_events(Scenario scenario, AttentionFlops convention,
                                              const EventCliOptions& options,
                                              const StepViewOptions& views);

/// Writes the page that --replay asks for, or says why there is none.
void write_replay(const std::vector<const EventSimulation*>& sides, const std::string& file);

/// A forecast by any engine.
struct EngineReport {
  Report report;
  std::optional<StepPath> played;  ///< by the event engine, where the plan can run
};
/// Nothing where Ctrl-C stopped a run on the fabric, which is said.
[[nodiscard]] std::optional<EngineReport> report_by(const Scenario& scenario,
                                                    AttentionFlops convention, EngineKind engine);

/// The same for what crosses links. @throws UsageError as play_for_links()
[[nodiscard]] EventSimulation simulate_links(const Scenario& scenario, AttentionFlops convention,
                                             LinkQuestion question);

/// Two scenarios beside each other; nothing where Ctrl-C stopped it.
[[nodiscard]] std::optional<std::variant<NeighbourReport, Infeasible>> simulate_neighbours(
    Scenario first, const Scenario& other, const EventCliOptions& options);

}  // namespace foretrain
