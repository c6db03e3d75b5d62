// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "models/forecast/path_forecast.hpp"
#include "planner/cli/command_row.hpp"
#include "planner/forecast/report.hpp"
#include "planner/step/trace.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain {

/// Pictures and traces of a step.
struct StepViewOptions {
  std::optional<std::string>
      gantt;  ///< draw into this file; empty: a text chart takes the report's place
  std::string trace;
  std::string power;             ///< write watts over time, or draw them, into this file
  std::optional<Detail> detail;  ///< how far chart and trace take passes apart; absent: pass

  [[nodiscard]] bool wanted() const { return gantt || !trace.empty() || !power.empty(); }
  [[nodiscard]] bool text_chart() const { return gantt && gantt->empty(); }
  [[nodiscard]] bool drawn() const { return gantt && !gantt->empty(); }
};

/// Adds --gantt, --trace, --power and --detail.
void add_step_view_options(CommandRow& command, StepViewOptions& options);

/// Checks what goes together. @param engine what --engine said @param other_form the report is not
/// the text one
/// @return the engine to use
/// @throws UsageError
[[nodiscard]] EngineKind check_step_views(const StepViewOptions& options,
                                          std::optional<EngineKind> engine, bool other_form);

/// Writes the files; returns the text chart, empty where none was asked for.
/// @param path the step as the report's engine has it
/// @param counters for the trace
/// @pre the plan can run
[[nodiscard]] std::string make_step_views(const Report& report, const StepPath& path,
                                          const StepViewOptions& options, const TextStyle& style,
                                          const std::vector<TraceCounter>& counters = {});

}  // namespace foretrain
