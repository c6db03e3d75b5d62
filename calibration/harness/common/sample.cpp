// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/common/sample.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace foretrain::harness {

Sample summarize(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const double rank = std::ceil(share * static_cast<double>(values.size()));
    return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
  };
  return Sample{static_cast<int>(values.size()), values.front(), at(0.5), at(0.9), values.back()};
}

}  // namespace foretrain::harness
