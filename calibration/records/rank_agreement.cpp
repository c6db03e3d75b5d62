// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/rank_agreement.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "models/base/require.hpp"

namespace foretrain {

double RankAgreement::tau() const {
  FORETRAIN_REQUIRE(pairs > 0);
  return static_cast<double>(right - wrong) / pairs;
}

RankAgreement& RankAgreement::operator+=(const RankAgreement& other) {
  pairs += other.pairs;
  right += other.right;
  wrong += other.wrong;
  return *this;
}

RankAgreement rank_agreement(const std::vector<RankedPair>& values, double resolution) {
  RankAgreement agreement;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      const double measured = values[j].measured - values[i].measured;
      if (std::abs(measured) < resolution * std::min(values[i].measured, values[j].measured))
        continue;
      const double predicted = values[j].predicted - values[i].predicted;
      ++agreement.pairs;
      if (measured * predicted > 0.0) ++agreement.right;
      if (measured * predicted < 0.0) ++agreement.wrong;
    }
  }
  return agreement;
}

}  // namespace foretrain
