// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace foretrain::gui {

/// Maps values to pixels, evenly or by their logarithm.
class AxisScale {
 public:
  AxisScale() = default;
  /// @pre low < high; with `logarithmic`, 0 < low
  AxisScale(double low, double high, double from, double to, bool logarithmic = false);

  [[nodiscard]] double at(double value) const;
  [[nodiscard]] double value_at(double pixel) const;
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }

 private:
  double low_ = 0.0;
  double high_ = 1.0;
  double from_ = 0.0;
  double to_ = 1.0;
  bool logarithmic_ = false;
};

/// A tick of a logarithmic axis; `strong` ones carry numbers.
struct LogTick {
  double value = 1.0;
  bool strong = true;
};
/// Powers of ten, and 2 and 5 times them as far as `most` numbers allow. @pre 0 < low < high
[[nodiscard]] std::vector<LogTick> log_ticks(double low, double high, int most);

}  // namespace foretrain::gui
