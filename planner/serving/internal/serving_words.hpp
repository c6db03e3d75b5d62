// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/serving/serving_study.hpp"

namespace foretrain::serving_words {

/// "2 x 8 GPUs (TP 8)".
[[nodiscard]] std::string replicas_text(const ServingLayout& layout);
/// "fp8 weights, fp8 cache".
[[nodiscard]] std::string precision_text(const ServingPrecision& precision);
/// A line per reason why something cannot run.
[[nodiscard]] AnswerSection reasons_section(const std::vector<Infeasible>& reasons);

/// A line per warning.
[[nodiscard]] AnswerSection warnings_section(const std::vector<Warning>& warnings);

[[nodiscard]] const ValueTable<ServingLayout>& layout_values();
[[nodiscard]] const ValueTable<ServingCost>& cost_values();

}  // namespace foretrain::serving_words
