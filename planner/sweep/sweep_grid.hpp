// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/resolve/scenario_family.hpp"

namespace foretrain {

/// One axis of a sweep: a key with its values, or several keys that change together.
struct SweepAxis {
  std::vector<std::string> keys;
  std::vector<std::vector<std::string>> values;  ///< by step, then by key
};

/// All combinations of one step per axis. The order is canonical: points count from 0, and the
/// last axis changes first.
struct SweepGrid {
  std::vector<SweepAxis> axes;

  [[nodiscard]] std::int64_t size() const;
  /// All keys, axis by axis: the columns of a result.
  [[nodiscard]] std::vector<std::string> keys() const;
  /// The same with their values, one per step of their axis.
  [[nodiscard]] std::vector<FamilyKey> family_keys() const;
  /// Number of the step of each key's axis. @pre 0 <= point < size()
  void choose(std::int64_t point, std::vector<std::size_t>& chosen) const;
};

/// Most points of a grid.
inline constexpr std::int64_t most_points = 10'000'000;
/// Most values of one axis.
inline constexpr std::size_t most_steps = 100'000;

/// Reads `KEY=VALUE,...` or `KEY,KEY,...=VALUE:VALUE:...,...`. A value LO..HI stands for the whole
/// numbers from LO to HI, LO..HI+STEP and LO..HI*FACTOR for some of them. Commas and colons within
/// brackets or quotes belong to a value.
/// @throws UsageError
[[nodiscard]] SweepAxis parse_axis(const std::string& text);

/// A key that means nothing where another one is 1, and breaks a rule there: sequence parallelism
/// without tensor ranks, chunks without stages.
struct FollowingKey {
  std::string of;
  std::string key;
  std::string value;  ///< where the other is above 1
  std::string alone;  ///< where it is 1
};

/// Those of a plan, by what it says.
[[nodiscard]] std::vector<FollowingKey> following_keys(bool sequence,
                                                       const std::string& virtual_stages,
                                                       const std::string& schedule);

/// Lets them follow the axes that go through 1, unless they are varied or settled themselves: else
/// all such points would be lost. The keys that now follow.
std::vector<FollowingKey> follow_axes(SweepGrid& grid, const std::vector<FollowingKey>& following,
                                      const std::vector<std::string>& settled);

/// @throws UsageError when keys repeat or contain each other, are no keys of a scenario, or give
///   more than most_points.
[[nodiscard]] SweepGrid make_grid(const std::vector<std::string>& axes);

}  // namespace foretrain
