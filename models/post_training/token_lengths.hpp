// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/serving/request_load.hpp"

namespace foretrain {

/// A law of lengths as quantiles: uniform around its mean, or log-normal, cut to `most`. A cut
/// log-normal law keeps its mean: what lies below the cut is longer for it.
/// @pre law.mean > 0
class TokenLengths {
 public:
  explicit TokenLengths(const TokenLaw& law);

  /// Tokens that a share of all does not exceed. @pre 0 < share < 1
  [[nodiscard]] double quantile(double share) const;
  /// The middles of `count` equal shares, ascending. @pre count >= 1
  [[nodiscard]] std::vector<double> middles(int count) const;
  /// Where the longest of `count` draws is expected. @pre count >= 1
  [[nodiscard]] double longest(double count) const;
  /// Standard deviation.
  [[nodiscard]] double deviation() const;

 private:
  TokenLaw law_;
  double middle_ = 0.0;  ///< of the logarithm
  double spread_ = 0.0;
};

}  // namespace foretrain
