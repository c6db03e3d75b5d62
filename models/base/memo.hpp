// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace foretrain {

/// The axes that a result depends on, as numbers.
template <std::size_t N>
using AxisKey = std::array<int, N>;

/// Results of a function by the few axes that it depends on, as many as there are places: what
/// meets another one in its place takes it. So memory is bounded, and what comes out never depends
/// on what was asked before. Not for several threads at once.
/// @tparam places a power of two
template <std::size_t N, class Value, std::size_t places>
class Memo {
  static_assert(places > 0 && (places & (places - 1)) == 0);

 public:
  /// The value of `key`, which `make` computes where it is not known; valid until the next call.
  template <class Make>
  const Value& get(const AxisKey<N>& key, const Make& make) {
    if (kept_.empty()) kept_.resize(places);
    Place& place = kept_[place_of(key)];
    if (!place.known || place.key != key) {
      place.value = make();
      place.key = key;
      place.known = true;
    }
    return place.value;
  }
  void clear() { kept_.clear(); }

 private:
  struct Place {
    AxisKey<N> key{};
    bool known = false;
    Value value{};
  };

  static std::size_t place_of(const AxisKey<N>& key) {
    std::uint64_t hash = 0;
    for (const int axis : key)
      hash = (hash ^ static_cast<std::uint32_t>(axis)) * 0x9E3779B97F4A7C15ULL;
    return static_cast<std::size_t>(hash >> 32U) & (places - 1);
  }

  std::vector<Place> kept_;
};

}  // namespace foretrain
