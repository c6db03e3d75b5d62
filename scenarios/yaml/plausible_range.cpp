// SPDX-License-Identifier: Apache-2.0
#include "scenarios/yaml/plausible_range.hpp"

namespace foretrain {

PlausibleRange plausible_range(Dimension dimension) {
  constexpr double hour = 3600.0;
  constexpr double year = 365.0 * 24.0 * hour;
  constexpr double kwh = 1000.0 * hour;
  switch (dimension) {
    case Dimension::none:
      break;
    case Dimension::bytes:
      return {1e-3, 1e24};
    case Dimension::bandwidth:
      return {1.0, 1e21};
    case Dimension::time:
      return {1e-15, 1e7 * 86400.0};  // 27,400 years
    case Dimension::flop_rate:
      return {1.0, 1e24};
    case Dimension::power:
      return {1e-6, 1e11};
    case Dimension::energy:
      return {1e-15, 1e21};
    case Dimension::count:
      return {1e-9, 1e21};
    case Dimension::price:
      return {1e-9 / hour, 1e3 / hour};
    case Dimension::money:
      return {1e-6, 1e14};
    case Dimension::spending:
      return {1e-6 / year, 1e14 / year};
    case Dimension::energy_price:
      return {1e-9 / kwh, 1e3 / kwh};
    case Dimension::carbon:
      return {1e-9 / kwh, 1e2 / kwh};
    case Dimension::frequency:
      return {1e-9 / year, 1e12};
  }
  return {1e-18, 1e24};
}

}  // namespace foretrain
