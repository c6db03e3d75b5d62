// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>

namespace foretrain {

/// Whether an element of the range is equal to the value.
template <class Range, class Value>
[[nodiscard]] constexpr bool contains(const Range& range, const Value& value) {
  return std::find(std::begin(range), std::end(range), value) != std::end(range);
}

}  // namespace foretrain
