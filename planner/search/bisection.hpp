// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace foretrain {

/// The largest number of 1..most that is good, by doubling and halving: at most 2 log2(most) + 1
/// questions. 0 when 1 is not good. @pre what is good at a number is good at every smaller one
[[nodiscard]] std::int64_t largest_good(std::int64_t most,
                                        const std::function<bool(std::int64_t)>& good);

/// The least factor of low..high that is good, to within a relative `resolution`. Nothing when
/// `high` is not good; `low` when it is good itself.
/// @pre what is good at a factor is good at every larger one; 0 < low < high; resolution > 0
[[nodiscard]] std::optional<double> least_good(double low, double high, double resolution,
                                               const std::function<bool(double)>& good);

}  // namespace foretrain
