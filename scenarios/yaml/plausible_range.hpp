// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/yaml/units_text.hpp"

namespace foretrain {

/// What any machine, site or run on earth may have, in base units; a field may allow less.
struct PlausibleRange {
  double least = 0.0;  ///< above zero
  double most = 0.0;
};
[[nodiscard]] PlausibleRange plausible_range(Dimension dimension);

}  // namespace foretrain
