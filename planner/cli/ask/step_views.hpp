// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

#include "models/forecast/path_forecast.hpp"
#include "planner/forecast/report.hpp"
#include "planner/step/trace.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain {

/// Pictures and traces of a step.
struct StepViewOptions {
  bool gantt = false;
  std::string svg;  ///< draw into this file; empty: a text chart takes the report's place
  std::string trace;
  std::string power;   ///< write watts over time, or draw them, into this file
  std::string detail;  ///< empty: pass

  [[nodiscard]] bool wanted() const { return gantt || !trace.empty() || !power.empty(); }
  [[nodiscard]] bool text_chart() const { return gantt && svg.empty(); }
};

/// Adds --gantt, --trace, --power and --detail.
void add_step_view_options(CLI::App& app, StepViewOptions& options);

/// After parsing: fills `gantt`, and checks what goes together. `engine` is what --engine said,
/// empty where it was not given; `other_form`: the report is not
/// the text one.
/// @return the engine to use
/// @throws UsageError
[[nodiscard]] EngineKind check_step_views(const CLI::App& app, StepViewOptions& options,
                                          const std::string& engine, bool other_form);

/// How far the chart and the trace take passes apart; absent where the options do not say.
[[nodiscard]] std::optional<Detail> detail_of(const StepViewOptions& options);

/// Writes the files; returns the text chart, empty where none was asked for.
/// @param path the step as the report's engine has it
/// @param counters for the trace
/// @pre the plan can run
[[nodiscard]] std::string make_step_views(const Report& report, const StepPath& path,
                                          const StepViewOptions& options, const TextStyle& style,
                                          const std::vector<TraceCounter>& counters = {});

}  // namespace foretrain
