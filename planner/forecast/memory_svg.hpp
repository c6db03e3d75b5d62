// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/base/prediction.hpp"

namespace foretrain {

/// Memory per pipeline stage as a picture: one stacked bar per stage, lines at the usable and at
/// the nominal memory, a legend. A complete SVG 1.1 document on a light background.
/// @pre at least one stage
[[nodiscard]] std::string memory_svg(const MemoryForecast& memory, const std::string& title);

}  // namespace foretrain
