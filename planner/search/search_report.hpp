// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/answer/value_rows.hpp"
#include "planner/search/plan_report.hpp"

namespace foretrain {

struct Scene;
struct SceneSpace;

/// Whose waterfall is drawn with bars and told with its settings.
enum class PlanBars { winner, all };
[[nodiscard]] AnswerHead plan_head(const PlanReport& report, const std::string& source = {});
/// The alternatives, the best plans as a table, where their steps go, why the winner beats the
/// next, where the user's own plan stands, the Pareto front, the space, what was refused and why,
/// and what the forecast rests on.
/// @param source what stands behind a command's name to read the scenario again
[[nodiscard]] Answer plan_answer(const PlanReport& report, PlanBars bars = PlanBars::winner,
                                 const std::string& source = {});
/// Schema plan/1: planner/README.md, "Output".
[[nodiscard]] std::string plan_json(const PlanReport& report);
[[nodiscard]] const ValueRows& plan_document();
/// RFC 4180: one row per plan of the table.
[[nodiscard]] std::string plan_csv(const PlanReport& report);

/// Plans by memory and step time, machines by GPU-hours and days; nothing for less than two.
[[nodiscard]] std::optional<Scene> plans_chart(const PlanReport& report, const SceneSpace& space);
[[nodiscard]] std::optional<Scene> machines_chart(const std::vector<Finalist>& pareto,
                                                  const SceneSpace& space);

}  // namespace foretrain
