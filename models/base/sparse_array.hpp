// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace foretrain {

/// An array of which few elements are ever written: the others are T{} and take a byte.
template <class T, std::size_t N>
class SparseArray {
  static_assert(N < 256);

 public:
  /// To write it. Valid until an element that was not written before is.
  T& operator[](std::size_t index) {
    std::uint8_t& place = places_[index];
    if (place == 0) {
      written_.emplace_back();
      place = static_cast<std::uint8_t>(written_.size());
    }
    return written_[place - std::size_t{1}];
  }
  const T& operator[](std::size_t index) const {
    static const T none{};
    const std::uint8_t place = places_[index];
    return place == 0 ? none : written_[place - std::size_t{1}];
  }

 private:
  std::array<std::uint8_t, N> places_{};  ///< in `written_`, from 1 on
  std::vector<T> written_;
};

}  // namespace foretrain
