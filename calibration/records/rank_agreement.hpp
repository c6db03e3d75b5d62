// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace foretrain {

/// A measurement and its prediction.
struct RankedPair {
  double measured;
  double predicted;
};

/// How well predictions order measurements: pairs in the right order, and in the wrong one. A tie
/// of predictions is neither.
struct RankAgreement {
  int pairs = 0;
  int right = 0;
  int wrong = 0;

  /// Kendall's tau (Biometrika 30, 1938): (right - wrong) / pairs, in -1..1. @pre pairs > 0
  [[nodiscard]] double tau() const;
  RankAgreement& operator+=(const RankAgreement& other);
};

/// Compares every two values whose measurements differ by at least `resolution` of the smaller one;
/// closer ones are noise. @pre measured > 0
[[nodiscard]] RankAgreement rank_agreement(const std::vector<RankedPair>& values,
                                           double resolution);

}  // namespace foretrain
