// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/search/search_space.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain::fixtures {

/// Numbers that are the same on every machine for the same seed (splitmix64).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_{seed} {}

  std::uint64_t next();
  /// One of 0 .. count - 1. @pre count > 0
  std::size_t below(std::size_t count);
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[below(values.size())];
  }

 private:
  std::uint64_t state_;
};

/// A scenario of a catalog model on 1 to 4,096 catalog hosts, as somebody would write it: batch,
/// sequence, plan, software, recomputation, prices and interruptions drawn. Plans may break rules
/// or memory. Nothing where the catalogs refuse the combination.
[[nodiscard]] std::optional<Scenario> random_scenario(Dice& dice);

/// Some hundred to some thousand plans of the default axes of the scenario.
[[nodiscard]] SearchSpace random_space(Dice& dice, const Job& job);

}  // namespace foretrain::fixtures
