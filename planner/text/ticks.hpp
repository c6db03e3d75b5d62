// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace foretrain {

/// 1, 2 or 5 times a power of ten: the least that divides `length` into at most `most` steps.
/// @pre length > 0, most >= 1
[[nodiscard]] double round_step(double length, int most);

/// Round values from `low` to `high`, so many steps apart. @pre low < high, most >= 1
[[nodiscard]] std::vector<double> round_ticks(double low, double high, int most);

}  // namespace foretrain
