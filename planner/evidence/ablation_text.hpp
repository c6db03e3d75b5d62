// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/validate/ablations.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain {

/// A line per kind of choice and one per pair: measured and forecast change of the step time.
[[nodiscard]] std::string ablations_text(const std::vector<AblationCheck>& checks,
                                         const TextStyle& style);
/// {"summary": [...], "pairs": [...]}; a pair that cannot be judged has nulls and says why.
[[nodiscard]] std::string ablations_json(const std::vector<AblationCheck>& checks);

}  // namespace foretrain
