// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/answer/head.hpp"
#include "planner/forecast/report.hpp"

namespace foretrain {

/// What a forecast says first.
/// @param source what stands behind a command's name to read this scenario again, "run.yaml --set
///   parallel.tensor=4"; empty: no command is offered
[[nodiscard]] AnswerHead report_head(const Report& report, const std::string& source = {});

/// The figures that a forecast is judged by, those that it knows: memory, step, run, cost.
[[nodiscard]] std::vector<HeadFigure> report_figures(const Prediction& prediction);

}  // namespace foretrain
