// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/search/plan_report.hpp"

namespace foretrain {

/// Whose waterfall is drawn with bars and told with its settings.
enum class PlanBars { winner, all };
[[nodiscard]] AnswerHead plan_head(const PlanReport& report, const std::string& source = {});
/// The alternatives, the best plans as a table, where their steps go, why the winner beats the
/// next, where the user's own plan stands, the Pareto front, the space, what was refused and why,
/// and what the forecast rests on.
/// @param source what stands behind a command's name to read the scenario again
[[nodiscard]] Answer plan_answer(const PlanReport& report, PlanBars bars = PlanBars::winner,
                                 const std::string& source = {});
/// Plans by memory and step time, machines by GPU-hours and days, as pictures; nothing for less
/// than two.
[[nodiscard]] AnswerSection plans_picture(const PlanReport& report);
[[nodiscard]] AnswerSection machines_picture(const std::vector<Finalist>& pareto);
/// Schema plan/1: planner/README.md, "Output".
[[nodiscard]] std::string plan_json(const PlanReport& report);
/// RFC 4180: one row per plan of the table.
[[nodiscard]] std::string plan_csv(const PlanReport& report);

}  // namespace foretrain
