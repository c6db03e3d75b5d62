// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

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

[[nodiscard]] nlohmann::ordered_json layout_tree(const ServingLayout& layout);
[[nodiscard]] nlohmann::ordered_json reasons_tree(const std::vector<Infeasible>& reasons);
[[nodiscard]] nlohmann::ordered_json cost_tree(const std::optional<ServingCost>& cost);
[[nodiscard]] nlohmann::ordered_json warnings_tree(const std::vector<Warning>& warnings);

}  // namespace foretrain::serving_words
