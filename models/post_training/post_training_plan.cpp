// SPDX-License-Identifier: Apache-2.0
#include "models/post_training/post_training_plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "models/base/percentile.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

constexpr int usual_count = 256;

double below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// Mean of a log-normal law that is cut to `most`: E[min(X, most)].
double cut_mean(double middle, double spread, double most) {
  const double cut = (std::log(most) - middle) / spread;
  return std::exp(middle + spread * spread / 2.0) * below(cut - spread) + most * (1.0 - below(cut));
}

/// The middle whose cut law has that mean.
double middle_of(double mean, double spread, double most) {
  const double uncut = std::log(mean) - spread * spread / 2.0;
  if (most <= 0.0) return uncut;
  double low = uncut;
  double high = std::log(most) + 8.0 * spread;
  for (int i = 0; i < 60; ++i) {
    const double tried = (low + high) / 2.0;
    (cut_mean(tried, spread, most) < mean ? low : high) = tried;
  }
  return (low + high) / 2.0;
}

}  // namespace

TokenLengths::TokenLengths(const TokenLaw& law) : law_{law} {
  FORETRAIN_REQUIRE(law.mean > 0.0);
  if (law.most > 0) law_.mean = std::min<double>(law.mean, law.most);
  if (law.variation <= 0.0) return;
  spread_ = std::sqrt(std::log1p(law.variation * law.variation));
  middle_ = middle_of(law_.mean, spread_, law.most);
}

double TokenLengths::quantile(double share) const {
  double tokens = spread_ > 0.0 ? std::exp(middle_ + spread_ * normal_quantile(share))
                                : law_.mean * (1.0 + law_.jitter * (2.0 * share - 1.0));
  if (law_.most > 0) tokens = std::min<double>(tokens, law_.most);
  return std::max(1.0, tokens);
}

std::vector<double> TokenLengths::middles(int count) const {
  std::vector<double> lengths(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    lengths[static_cast<std::size_t>(i)] = quantile((i + 0.5) / count);
  return lengths;
}

double TokenLengths::longest(double count) const { return quantile(largest_share(count)); }

double TokenLengths::deviation() const {
  const std::vector<double> lengths = middles(usual_count);
  const double mean = std::accumulate(lengths.begin(), lengths.end(), 0.0) / usual_count;
  double squares = 0.0;
  for (const double length : lengths) squares += (length - mean) * (length - mean);
  return std::sqrt(squares / usual_count);
}

}  // namespace foretrain
