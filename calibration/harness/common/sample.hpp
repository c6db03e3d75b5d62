// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace foretrain::harness {

/// Repeated timings of one thing. Percentiles are the value at the nearest rank.
struct Sample {
  int count = 0;
  double minimum = 0.0;
  double median = 0.0;
  double p90 = 0.0;
  double maximum = 0.0;

  /// How far the middle runs are apart: (p90 - minimum) / median.
  [[nodiscard]] double spread() const { return median > 0.0 ? (p90 - minimum) / median : 0.0; }
};

/// @pre values is not empty.
[[nodiscard]] Sample summarize(std::vector<double> values);

}  // namespace foretrain::harness
