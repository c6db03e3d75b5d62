// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/inputs/job.hpp"

namespace foretrain {

/// The axes of a plan at a glance, those of degree 1 left out but tensor, pipeline and data:
/// "tp 2 pp 8 vp 2 ep 4 dp 64".
[[nodiscard]] std::string axis_words(const Parallel& plan);

}  // namespace foretrain
