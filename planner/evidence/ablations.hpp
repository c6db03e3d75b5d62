// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/validate/ablations.hpp"
#include "planner/answer/answer.hpp"

namespace foretrain {

/// A line per kind of choice and one per pair: measured and forecast change of the step time.
[[nodiscard]] Answer ablations_answer(const std::vector<AblationCheck>& checks);
/// {"summary": [...], "pairs": [...]}; a pair that cannot be judged has nulls and says why.
[[nodiscard]] std::string ablations_json(const std::vector<AblationCheck>& checks);

}  // namespace foretrain
