// SPDX-License-Identifier: Apache-2.0
#include "gui/views/chart_scale.hpp"

#include <cmath>

namespace foretrain::gui {

AxisScale::AxisScale(double low, double high, double from, double to, bool logarithmic)
    : low_{low}, high_{high}, from_{from}, to_{to}, logarithmic_{logarithmic} {}

double AxisScale::at(double value) const {
  const double share = logarithmic_ ? std::log(value / low_) / std::log(high_ / low_)
                                    : (value - low_) / (high_ - low_);
  return from_ + share * (to_ - from_);
}

double AxisScale::value_at(double pixel) const {
  const double share = (pixel - from_) / (to_ - from_);
  return logarithmic_ ? low_ * std::pow(high_ / low_, share) : low_ + share * (high_ - low_);
}

std::vector<LogTick> log_ticks(double low, double high, int most) {
  const double decades = std::log10(high / low);
  const bool every = 3.0 * decades <= most;
  const auto first = static_cast<int>(std::floor(std::log10(low)));
  const auto last = static_cast<int>(std::ceil(std::log10(high)));
  const int apart = std::max(1, static_cast<int>(std::ceil(decades / most)));
  std::vector<LogTick> ticks;
  for (int power = first; power <= last; ++power)
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = digit * std::pow(10.0, power);
      if (value < low * (1.0 - 1e-9) || value > high * (1.0 + 1e-9)) continue;
      ticks.push_back({value, every || (digit == 1.0 && power % apart == 0)});
    }
  return ticks;
}

}  // namespace foretrain::gui
