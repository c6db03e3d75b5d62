// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/text/format.hpp"

namespace foretrain {

enum class ByteUnits { binary, decimal };                   ///< GiB or GB
enum class TimeUnits { automatic, seconds, milliseconds };  ///< of steps and their parts

/// How numbers with a choice of unit are shown. The default is what `foretrain` prints.
struct NumberUnits {
  ByteUnits bytes = ByteUnits::binary;
  TimeUnits time = TimeUnits::automatic;

  friend bool operator==(const NumberUnits&, const NumberUnits&) = default;
};

/// "62.1 GiB" or "66.7 GB".
[[nodiscard]] std::string bytes_text(Bytes value, const NumberUnits& units);
/// Step-scale time: "8.31 s", "8,310 ms".
[[nodiscard]] std::string seconds_text(Seconds value, const NumberUnits& units);

/// A unit for an axis whose largest value is given: its name, and how many base units it has.
struct AxisUnit {
  std::string name;
  double size = 1.0;
};
[[nodiscard]] AxisUnit bytes_axis(Bytes largest, const NumberUnits& units);
[[nodiscard]] AxisUnit seconds_axis(Seconds largest, const NumberUnits& units);

}  // namespace foretrain
