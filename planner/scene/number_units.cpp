// SPDX-License-Identifier: Apache-2.0
#include "planner/scene/number_units.hpp"

#include <array>
#include <cmath>

namespace foretrain {
namespace {

struct UnitStep {
  const char* name;
  double size;
};

constexpr std::array binary_steps{UnitStep{"TiB", 1099511627776.0}, UnitStep{"GiB", 1073741824.0},
                                  UnitStep{"MiB", 1048576.0}, UnitStep{"KiB", 1024.0},
                                  UnitStep{"B", 1.0}};
constexpr std::array decimal_steps{UnitStep{"TB", 1e12}, UnitStep{"GB", 1e9}, UnitStep{"MB", 1e6},
                                   UnitStep{"kB", 1e3}, UnitStep{"B", 1.0}};
constexpr std::array time_steps{UnitStep{"s", 1.0}, UnitStep{"ms", 1e-3}, UnitStep{"us", 1e-6},
                                UnitStep{"ns", 1e-9}};

template <class Steps>
AxisUnit fitting(const Steps& steps, double largest) {
  for (const UnitStep& step : steps)
    if (largest >= step.size) return {step.name, step.size};
  return {steps.back().name, steps.back().size};
}

}  // namespace

std::string bytes_text(Bytes value, const NumberUnits& units) {
  if (units.bytes == ByteUnits::binary) return bytes_text(value);
  const AxisUnit unit = fitting(decimal_steps, std::abs(value.value()));
  return fixed_text(value.value() / unit.size, unit.size > 1.0 ? 1 : 0) + " " + unit.name;
}

std::string seconds_text(Seconds value, const NumberUnits& units) {
  switch (units.time) {
    case TimeUnits::seconds:
      return fixed_text(value.value(), 3) + " s";
    case TimeUnits::milliseconds:
      return significant_text(value.value() * 1e3) + " ms";
    case TimeUnits::automatic:
      break;
  }
  return seconds_text(value);
}

AxisUnit bytes_axis(Bytes largest, const NumberUnits& units) {
  return units.bytes == ByteUnits::binary ? fitting(binary_steps, largest.value())
                                          : fitting(decimal_steps, largest.value());
}

AxisUnit seconds_axis(Seconds largest, const NumberUnits& units) {
  switch (units.time) {
    case TimeUnits::seconds:
      return {"s", 1.0};
    case TimeUnits::milliseconds:
      return {"ms", 1e-3};
    case TimeUnits::automatic:
      break;
  }
  return fitting(time_steps, largest.value());
}

}  // namespace foretrain
