// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace foretrain {

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
