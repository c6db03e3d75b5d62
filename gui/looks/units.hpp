// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include "planner/text/format.hpp"

namespace foretrain::gui {

enum class ByteUnits { binary, decimal };                   ///< GiB or GB
enum class TimeUnits { automatic, seconds, milliseconds };  ///< of steps and their parts

/// How numbers with a choice of unit are shown. The default is what `foretrain` prints.
struct Units {
  ByteUnits bytes = ByteUnits::binary;
  TimeUnits time = TimeUnits::automatic;

  friend bool operator==(const Units&, const Units&) = default;
};

/// "62.1 GiB" or "66.7 GB".
[[nodiscard]] QString size_label(Bytes value, const Units& units);
/// Step-scale time: "8.31 s", "8,310 ms".
[[nodiscard]] QString time_label(Seconds value, const Units& units);

/// A unit for an axis whose largest value is given: its name, and how many base units it has.
struct AxisUnit {
  QString name;
  double size = 1.0;
};
[[nodiscard]] AxisUnit size_axis(Bytes largest, const Units& units);
[[nodiscard]] AxisUnit time_axis(Seconds largest, const Units& units);

}  // namespace foretrain::gui
