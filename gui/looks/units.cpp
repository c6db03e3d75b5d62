// SPDX-License-Identifier: Apache-2.0
#include "gui/looks/units.hpp"

#include <array>

namespace foretrain::gui {
namespace {

struct Scale {
  const char* name;
  double size;
};

constexpr std::array binary_scales{Scale{"TiB", 1099511627776.0}, Scale{"GiB", 1073741824.0},
                                   Scale{"MiB", 1048576.0}, Scale{"KiB", 1024.0}, Scale{"B", 1.0}};
constexpr std::array decimal_scales{Scale{"TB", 1e12}, Scale{"GB", 1e9}, Scale{"MB", 1e6},
                                    Scale{"kB", 1e3}, Scale{"B", 1.0}};
constexpr std::array time_scales{Scale{"s", 1.0}, Scale{"ms", 1e-3}, Scale{"us", 1e-6},
                                 Scale{"ns", 1e-9}};

template <class Scales>
AxisUnit fitting(const Scales& scales, double largest) {
  for (const Scale& scale : scales)
    if (largest >= scale.size) return {QString::fromLatin1(scale.name), scale.size};
  return {QString::fromLatin1(scales.back().name), scales.back().size};
}

}  // namespace

QString size_label(Bytes value, const Units& units) {
  if (units.bytes == ByteUnits::binary) return QString::fromStdString(bytes_text(value));
  const double size = value.value();
  const AxisUnit unit = fitting(decimal_scales, size < 0.0 ? -size : size);
  const int decimals = unit.size > 1.0 ? 1 : 0;
  return QString::fromStdString(fixed_text(size / unit.size, decimals)) + QLatin1Char(' ') +
         unit.name;
}

QString time_label(Seconds value, const Units& units) {
  switch (units.time) {
    case TimeUnits::seconds:
      return QString::fromStdString(fixed_text(value.value(), 3)) + QStringLiteral(" s");
    case TimeUnits::milliseconds:
      return QString::fromStdString(significant_text(value.value() * 1e3)) + QStringLiteral(" ms");
    case TimeUnits::automatic:
      break;
  }
  return QString::fromStdString(seconds_text(value));
}

AxisUnit size_axis(Bytes largest, const Units& units) {
  return units.bytes == ByteUnits::binary ? fitting(binary_scales, largest.value())
                                          : fitting(decimal_scales, largest.value());
}

AxisUnit time_axis(Seconds largest, const Units& units) {
  switch (units.time) {
    case TimeUnits::seconds:
      return {QStringLiteral("s"), 1.0};
    case TimeUnits::milliseconds:
      return {QStringLiteral("ms"), 1e-3};
    case TimeUnits::automatic:
      break;
  }
  return fitting(time_scales, largest.value());
}

}  // namespace foretrain::gui
