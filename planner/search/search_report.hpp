// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/answer/head.hpp"
#include "planner/search/plan_report.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain {

/// Whose waterfall is drawn with bars and told with its settings.
enum class PlanBars { winner, all };
/// @param source what stands behind a command's name to read the scenario again
[[nodiscard]] AnswerHead plan_head(const PlanReport& report, const std::string& source = {});
/// The space, what was refused and why, the best plans as a table, where their steps go, why the
/// winner beats the next, where the user's own plan stands, and the Pareto front. No line is longer
/// than style.width.
[[nodiscard]] std::string plan_text(const PlanReport& report, const TextStyle& style = {},
                                    PlanBars bars = PlanBars::winner,
                                    const std::string& source = {});
/// Schema plan/1: planner/README.md, "Output".
[[nodiscard]] std::string plan_json(const PlanReport& report);
/// RFC 4180: one row per plan of the table.
[[nodiscard]] std::string plan_csv(const PlanReport& report);

}  // namespace foretrain
