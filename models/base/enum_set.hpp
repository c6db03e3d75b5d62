// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>

namespace foretrain {

/// Some values of an enumeration of less than 32.
template <class E>
class EnumSet {
 public:
  constexpr EnumSet() = default;
  constexpr EnumSet(std::initializer_list<E> values) {
    for (const E value : values) add(value);
  }
  [[nodiscard]] constexpr bool has(E value) const { return (bits_ & bit(value)) != 0; }
  constexpr void add(E value) { bits_ |= bit(value); }
  constexpr void add(const EnumSet& other) { bits_ |= other.bits_; }
  [[nodiscard]] constexpr bool any_of(const EnumSet& others) const {
    return (bits_ & others.bits_) != 0;
  }
  [[nodiscard]] constexpr bool any() const { return bits_ != 0; }
  friend constexpr bool operator==(const EnumSet&, const EnumSet&) = default;

 private:
  static constexpr std::uint32_t bit(E value) { return 1U << static_cast<unsigned>(value); }

  std::uint32_t bits_ = 0;
};

}  // namespace foretrain
