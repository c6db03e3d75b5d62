// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "models/forecast/path_forecast.hpp"
#include "planner/cli/ask/step_views.hpp"
#include "planner/step/event_report.hpp"

namespace foretrain {

/// What only --engine event knows.
struct EventCliOptions {
  bool unfold = false;
  std::string heat;  ///< draw the use of links into this file
  std::optional<std::uint64_t> seed;
  bool progress = false;  ///< lines on standard error, for programs

  [[nodiscard]] bool given() const {
    return unfold || progress || !heat.empty() || seed.has_value();
  }
};

/// Adds --unfold, --seed, --progress and --heat.
void add_event_options(CLI::App& app, EventCliOptions& options);

/// What --heat asks for. @throws UsageError
void check_event_options(const EventCliOptions& options);

/// A scenario played on its fabric: with a bar on a terminal when it takes long, and until Ctrl-C.
struct EventSimulation {
  EventReport event;
  std::optional<ReplayProgress> interrupted;  ///< by Ctrl-C
  std::optional<StepPath> path;               ///< for charts and traces
};
[[nodiscard]] EventSimulation simulate_events(Scenario scenario, AttentionFlops convention,
                                              const EventCliOptions& options,
                                              const StepViewOptions& views);

}  // namespace foretrain
