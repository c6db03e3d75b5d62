// SPDX-License-Identifier: Apache-2.0
#include "planner/cluster/duration_fit.hpp"

#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <numeric>

namespace foretrain {
namespace {

/// What cluster files take as a coefficient of variation.
constexpr double most_variation = 1000.0;

/// What the likelihoods look at.
struct Moments {
  double count = 0.0;
  double mean = 0.0;
  double log_mean = 0.0;  ///< mean of the logarithms
  double log_variance = 0.0;
};

Moments moments_of(const std::vector<double>& values) {
  Moments moments{static_cast<double>(values.size())};
  for (const double value : values) {
    moments.mean += value / moments.count;
    moments.log_mean += std::log(value) / moments.count;
  }
  for (const double value : values) {
    const double off = std::log(value) - moments.log_mean;
    moments.log_variance += off * off / moments.count;
  }
  return moments;
}

double aic_of(int parameters, double log_likelihood) {
  return 2.0 * parameters - 2.0 * log_likelihood;
}

DurationFit exponential_fit(const Moments& of) {
  return {{DurationKind::exponential, Seconds{of.mean}},
          aic_of(1, -of.count * (std::log(of.mean) + 1.0))};
}

DurationFit lognormal_fit(const Moments& of) {
  constexpr double pi = 3.14159265358979323846;
  const double each = of.log_mean + 0.5 * std::log(2.0 * pi * of.log_variance) + 0.5;
  return {{DurationKind::lognormal, Seconds{std::exp(of.log_mean + 0.5 * of.log_variance)},
           std::sqrt(std::expm1(of.log_variance))},
          aic_of(2, -of.count * each)};
}

/// The shape at which ln k - digamma(k) is the log of the mean over the geometric mean.
double gamma_shape(double log_ratio) {
  const double from_three = log_ratio - 3.0;
  double shape =
      (-from_three + std::sqrt(from_three * from_three + 24.0 * log_ratio)) / (12.0 * log_ratio);
  constexpr int steps = 20;
  for (int i = 0; i < steps; ++i) {
    const double off = std::log(shape) - boost::math::digamma(shape) - log_ratio;
    const double next = shape - off / (1.0 / shape - boost::math::trigamma(shape));
    if (!(next > 0.0) || std::abs(next - shape) < 1e-12 * shape) break;
    shape = next;
  }
  return shape;
}

DurationFit gamma_fit(const Moments& of) {
  const double shape = gamma_shape(std::log(of.mean) - of.log_mean);
  const double each =
      (shape - 1.0) * of.log_mean - shape - std::lgamma(shape) - shape * std::log(of.mean / shape);
  return {{DurationKind::gamma, Seconds{of.mean}, 1.0 / std::sqrt(shape)},
          aic_of(2, of.count * each)};
}

DurationFit uniform_fit(const std::vector<double>& sorted) {
  DurationLaw law{DurationKind::uniform};
  law.least = Seconds{sorted.front()};
  law.most = Seconds{sorted.back()};
  const double range = sorted.back() - sorted.front();
  return {law, aic_of(2, -static_cast<double>(sorted.size()) * std::log(range))};
}

bool can_be_written(const DurationFit& fit) {
  return std::isfinite(fit.aic) && fit.law.variation <= most_variation;
}

}  // namespace

double distance_of(const DurationLaw& law, const std::vector<double>& sorted) {
  constexpr std::size_t most_places = 10'000;
  const std::size_t step = (sorted.size() + most_places - 1) / most_places;
  const auto count = static_cast<double>(sorted.size());
  double distance = 0.0;
  for (std::size_t i = 0; i < sorted.size(); i += step) {
    const double share = law.share_within(Seconds{sorted[i]});
    // Just below a duration a law that takes it with certainty has not taken it yet.
    const double below = law.share_within(Seconds{std::nextafter(sorted[i], 0.0)});
    distance = std::max({distance, static_cast<double>(i + 1) / count - share,
                         below - static_cast<double>(i) / count});
  }
  return distance;
}

DurationLaw measured_durations(const std::vector<double>& sorted, std::size_t most) {
  DurationLaw law{DurationKind::empirical};
  const std::size_t parts = std::min(most, sorted.size());
  const double each = static_cast<double>(sorted.size()) / static_cast<double>(parts);
  std::size_t place = 0;
  double left = 1.0;  // of the duration at `place`
  for (std::size_t part = 0; part < parts; ++part) {
    double sum = 0.0;
    double wanted = each;
    while (wanted > 0.0 && place < sorted.size()) {
      const double taken = std::min(wanted, left);
      sum += taken * sorted[place];
      wanted -= taken;
      left -= taken;
      if (left > 1e-9) continue;
      ++place;
      left = 1.0;
    }
    law.values.emplace_back(sum / (each - wanted));
  }
  return law;
}

std::vector<DurationFit> fit_durations(const std::vector<double>& sorted) {
  if (sorted.front() == sorted.back())
    return {{{DurationKind::fixed, Seconds{sorted.front()}}, 0.0, 0.0}};
  const Moments moments = moments_of(sorted);
  std::vector<DurationFit> fits{exponential_fit(moments), lognormal_fit(moments),
                                gamma_fit(moments), uniform_fit(sorted)};
  fits.erase(std::remove_if(fits.begin(), fits.end(),
                            [](const DurationFit& fit) { return !can_be_written(fit); }),
             fits.end());
  for (DurationFit& fit : fits) fit.distance = distance_of(fit.law, sorted);
  std::stable_sort(fits.begin(), fits.end(),
                   [](const DurationFit& a, const DurationFit& b) { return a.aic < b.aic; });
  return fits;
}

}  // namespace foretrain
