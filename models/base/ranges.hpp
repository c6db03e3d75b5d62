// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace foretrain {

/// Whether an element of the range is equal to the value.
template <class Range, class Value>
[[nodiscard]] constexpr bool contains(const Range& range, const Value& value) {
  return std::find(std::begin(range), std::end(range), value) != std::end(range);
}

/// Number of an element of a container. @pre i >= 0
[[nodiscard]] constexpr std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// A container from its end to its beginning, for range-for; it must outlive the loop. In place of
/// std::views::reverse, which clang before 16 does not compile with libstdc++.
template <class Container>
class Reversed {
 public:
  explicit Reversed(const Container& container) : container_{container} {}
  [[nodiscard]] auto begin() const { return container_.rbegin(); }
  [[nodiscard]] auto end() const { return container_.rend(); }

 private:
  const Container& container_;
};

}  // namespace foretrain
