// SPDX-License-Identifier: Apache-2.0
#include "planner/cluster/job_law_fit.hpp"

#include <algorithm>
#include <array>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/erf.hpp>
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

constexpr double hour_s = 3600.0;
constexpr double day_s = 24.0 * hour_s;
constexpr double week_s = 7.0 * day_s;
constexpr std::size_t week_hours = 168;

/// Equal parts of a period, such as the hours of a day.
struct Cycle {
  double period_s;
  std::size_t parts;
  int fewest;  ///< periods
};
constexpr Cycle daily{day_s, 24, fewest_days};
constexpr Cycle weekly{week_s, 7, fewest_weeks};

/// Probability that a variable of Fisher's F distribution is above `statistic`.
double f_above(double statistic, double above, double below) {
  return boost::math::ibeta(below / 2.0, above / 2.0, below / (below + above * statistic));
}

/// Jobs by part of the period, over as many periods as the window has whole; they begin with its
/// first whole part.
struct PartCounts {
  int periods = 0;
  std::vector<double> jobs;
  std::vector<double> roots;  ///< sums of the square roots of each period's jobs
  double all = 0.0;
};

PartCounts counts_of(const std::vector<double>& submits, const LogWindow& window,
                     const Cycle& cycle) {
  const double part_s = cycle.period_s / static_cast<double>(cycle.parts);
  const double first = std::ceil(window.from / part_s);
  const double from = first * part_s;
  PartCounts counts;
  counts.periods = static_cast<int>(std::floor((window.to - from) / cycle.period_s));
  counts.jobs.assign(cycle.parts, 0.0);
  counts.roots.assign(cycle.parts, 0.0);
  const double until = from + counts.periods * cycle.period_s;
  auto at = std::lower_bound(submits.begin(), submits.end(), from);
  while (at != submits.end() && *at < until) {
    const double cell = std::floor((*at - from) / part_s);
    const auto next = std::lower_bound(at, submits.end(), from + (cell + 1.0) * part_s);
    const auto jobs = static_cast<double>(std::max<std::ptrdiff_t>(1, next - at));
    const std::size_t part = static_cast<std::size_t>(first + cell) % cycle.parts;
    counts.jobs[part] += jobs;
    counts.roots[part] += std::sqrt(jobs);
    counts.all += jobs;
    at += static_cast<std::ptrdiff_t>(jobs);
  }
  return counts;
}

/// The test; rates over their mean in `rates` where the cycle is taken.
std::optional<CycleTest> tested(const std::vector<double>& submits, const LogWindow& window,
                                const Cycle& cycle, std::vector<double>& rates) {
  const PartCounts counts = counts_of(submits, window, cycle);
  if (counts.periods < cycle.fewest || counts.all == 0.0) return std::nullopt;
  const auto parts = static_cast<double>(cycle.parts);
  double sum = 0.0;
  double of_means = 0.0;
  for (const double roots : counts.roots) {
    sum += roots;
    of_means += roots * roots / counts.periods;
  }
  const double between = of_means - sum * sum / (parts * counts.periods);
  // The squares of the roots are the jobs.
  const double within = counts.all - of_means;
  const double below = parts * (counts.periods - 1.0);
  CycleTest test{counts.periods};
  const double most = *std::ranges::max_element(counts.jobs);
  test.peak = most * parts / counts.all;
  if (within > 1e-9 * counts.all) {
    test.statistic = std::max(0.0, between) / (parts - 1.0) / (within / below);
    test.probability = f_above(test.statistic, parts - 1.0, below);
  } else {
    // Every period is like the others: no chance where its parts differ.
    test.probability = between > 1e-9 * counts.all ? 0.0 : 1.0;
  }
  test.taken = test.probability < cycle_chance;
  if (!test.taken) return test;
  // Cluster files hold whole numbers.
  constexpr double mean_rate = 100.0;
  for (const double jobs : counts.jobs)
    rates.push_back(std::round(mean_rate * jobs * parts / counts.all));
  return test;
}

/// Jobs that a law expects from time 0 on.
class Expected {
 public:
  explicit Expected(const ArrivalLaw& law) {
    for (std::size_t hour = 0; hour < week_hours; ++hour) {
      const Seconds middle{(static_cast<double>(hour) + 0.5) * hour_s};
      until_[hour + 1] = until_[hour] + (law.rate_at(middle) * Seconds{hour_s});
    }
  }
  [[nodiscard]] double until(double time) const {
    const double weeks = std::floor(time / week_s);
    const double hours = (time - weeks * week_s) / hour_s;
    const auto whole = std::min(week_hours - 1, static_cast<std::size_t>(hours));
    return weeks * until_.back() + until_[whole] +
           (hours - static_cast<double>(whole)) * (until_[whole + 1] - until_[whole]);
  }

 private:
  std::array<double, week_hours + 1> until_{};
};

void judge_gaps(const std::vector<double>& submits, const Expected& expected, ArrivalFit& fit) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < submits.size(); ++i)
    gaps.push_back(std::max(1e-12, expected.until(submits[i]) - expected.until(submits[i - 1])));
  fit.gaps = static_cast<std::int64_t>(gaps.size());
  if (gaps.empty()) return;
  std::ranges::sort(gaps);
  fit.distance = distance_of({DurationKind::exponential, Seconds{1.0}}, gaps);
}

/// Dispersion of jobs per day; days on which none is expected tell nothing.
void judge_days(const std::vector<double>& submits, const LogWindow& window,
                const Expected& expected, ArrivalFit& fit) {
  const double first = std::ceil(window.from / day_s);
  const double days = std::floor(window.to / day_s) - first;
  if (days < 2.0) return;
  double squares = 0.0;
  double counted = 0.0;
  auto at = std::lower_bound(submits.begin(), submits.end(), first * day_s);
  for (double day = first; day < first + days; ++day) {
    const double end = (day + 1.0) * day_s;
    const auto next = std::lower_bound(at, submits.end(), end);
    const double wanted = expected.until(end) - expected.until(day * day_s);
    if (wanted > 0.0) {
      const double off = static_cast<double>(next - at) - wanted;
      squares += off * off / wanted;
      ++counted;
    }
    at = next;
  }
  if (counted >= 2.0) fit.dispersion = squares / (counted - 1.0);
}

void judge_halves(const std::vector<double>& submits, const LogWindow& window,
                  const Expected& expected, ArrivalFit& fit) {
  const double middle = 0.5 * (window.from + window.to);
  const auto half = std::lower_bound(submits.begin(), submits.end(), middle);
  const double first = static_cast<double>(half - submits.begin()) /
                       (expected.until(middle) - expected.until(window.from));
  const double second = static_cast<double>(submits.end() - half) /
                        (expected.until(window.to) - expected.until(middle));
  if (!(first > 0.0) || !(second > 0.0)) return;
  // Variances of counts are `dispersion` times those of a Poisson process.
  const double spread = std::sqrt(std::max(1.0, fit.dispersion.value_or(1.0)) * 4.0 /
                                  static_cast<double>(submits.size()));
  const double off = std::abs(std::log(second / first)) / spread;
  if (boost::math::erfc(off / std::sqrt(2.0)) < cycle_chance) fit.growth = second / first;
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
  std::ranges::stable_sort(
      fits, [](const DurationFit& a, const DurationFit& b) { return a.aic < b.aic; });
  return fits;
}

ArrivalFit fit_arrivals(const std::vector<double>& submits, const LogWindow& window) {
  ArrivalFit fit;
  fit.day = tested(submits, window, daily, fit.law.day);
  fit.week = tested(submits, window, weekly, fit.law.week);
  fit.law.rate = PerSecond{static_cast<double>(submits.size()) / window.seconds()};
  const Expected expected(fit.law);
  judge_gaps(submits, expected, fit);
  judge_days(submits, window, expected, fit);
  judge_halves(submits, window, expected, fit);
  return fit;
}

}  // namespace foretrain
