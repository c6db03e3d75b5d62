// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/answer/head.hpp"
#include "planner/forecast/report.hpp"
#include "planner/scene/number_units.hpp"

namespace foretrain {

/// What a forecast says first.
/// @param source what stands behind a command's name to read this scenario again, "run.yaml --set
///   parallel.tensor=4"; empty: no command is offered
[[nodiscard]] AnswerHead report_head(const Report& report, const std::string& source = {});

/// The figures that a forecast is judged by, those that it knows: memory, step, run, cost.
[[nodiscard]] std::vector<HeadFigure> report_figures(const Prediction& prediction);

/// A figure, and the row of the forecast that it shows. Where that is unknown, the value is empty
/// and the band says why.
struct KeyFigure {
  std::string path;  ///< of the JSON
  HeadFigure figure;
};
/// Always memory, step, MFU, throughput, run and cost.
[[nodiscard]] std::vector<KeyFigure> key_figures(const Prediction& prediction,
                                                 const NumberUnits& units = {});

/// Why a plan cannot run, and what helps.
[[nodiscard]] std::string reason_sentence(const Infeasible& reason);

}  // namespace foretrain
