// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/search.hpp"
#include "planner/text_layout.hpp"

namespace foretrain {

/// The space, what was refused and why, the best plans as a table, where the winner's step goes,
/// why it beats the next, and the Pareto front. No line is longer than style.width.
[[nodiscard]] std::string plan_text(const PlanReport& report, const TextStyle& style = {});
/// Schema plan/1: planner/README.md, "Output".
[[nodiscard]] std::string plan_json(const PlanReport& report);
/// RFC 4180: one row per plan of the table.
[[nodiscard]] std::string plan_csv(const PlanReport& report);

}  // namespace foretrain
