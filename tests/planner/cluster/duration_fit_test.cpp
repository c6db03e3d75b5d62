// SPDX-License-Identifier: Apache-2.0

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "models/base/random.hpp"
#include "planner/cluster/job_law_fit.hpp"

namespace foretrain {
namespace {

constexpr double day_seconds = 86400.0;

std::vector<double> drawn(int count, const std::function<double(Random&)>& draw) {
  Random random(11);
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(draw(random));
  std::sort(values.begin(), values.end());
  return values;
}

/// Submissions of a process whose rate at a time is `per_day` times a share, which is at most 1.
std::vector<double> submitted(double days_long, double per_day,
                              const std::function<double(double)>& share, int burst = 1) {
  Random random(5);
  std::vector<double> times;
  double time = 0.0;
  while (true) {
    time += random.exponential(Seconds{day_seconds / per_day});
    if (time >= days_long * day_seconds) return times;
    if (random.uniform() <= share(time))
      times.insert(times.end(), static_cast<std::size_t>(burst), time);
  }
}

double evenly(double /*time*/) { return 1.0; }

}  // namespace

TEST_CASE("duration fit: shares within a time", "[planner][cluster]") {
  const auto within = [](DurationLaw law, double time) { return law.share_within(Seconds{time}); };
  CHECK(within({DurationKind::exponential, Seconds{10.0}}, 10.0) == Approx(1.0 - std::exp(-1.0)));
  // Half of a log-normal's values are below its median, mean / sqrt(1 + cv^2).
  CHECK(within({DurationKind::lognormal, Seconds{10.0}, 2.0}, 10.0 / std::sqrt(5.0)) ==
        Approx(0.5));
  // Gamma of shape 2: 1 - (1 + x) exp(-x) of x in units of its scale.
  CHECK(within({DurationKind::gamma, Seconds{10.0}, std::sqrt(0.5)}, 15.0) ==
        Approx(1.0 - 4.0 * std::exp(-3.0)));
  DurationLaw law{DurationKind::uniform};
  law.least = Seconds{2.0};
  law.most = Seconds{4.0};
  CHECK(within(law, 2.5) == 0.25);
  CHECK(within(law, 1.0) == 0.0);
  CHECK(within(law, 9.0) == 1.0);
  CHECK(within({DurationKind::fixed, Seconds{3.0}}, 2.9) == 0.0);
  CHECK(within({DurationKind::fixed, Seconds{3.0}}, 3.0) == 1.0);
  law = {DurationKind::empirical};
  law.values = {Seconds{1.0}, Seconds{5.0}, Seconds{2.0}, Seconds{9.0}};
  CHECK(within(law, 2.0) == 0.5);
}

TEST_CASE("duration fit: criterion and distance by hand", "[planner][cluster]") {
  // Two durations of mean 2: the exponential's log-likelihood is -2 (ln 2 + 1), and a uniform's of
  // width 2 is -2 ln 2.
  const auto fits = fit_durations({1.0, 3.0});
  const auto of = [&fits](DurationKind kind) {
    return *std::find_if(fits.begin(), fits.end(),
                         [kind](const DurationFit& fit) { return fit.law.kind == kind; });
  };
  CHECK(of(DurationKind::exponential).aic == Approx(2.0 + 4.0 * (std::log(2.0) + 1.0)));
  CHECK(of(DurationKind::uniform).aic == Approx(4.0 + 4.0 * std::log(2.0)));
  CHECK(of(DurationKind::lognormal).law.typical.value() ==
        Approx(std::sqrt(3.0) * std::exp(0.5 * std::pow(0.5 * std::log(3.0), 2))));
  CHECK(std::is_sorted(fits.begin(), fits.end(),
                       [](const DurationFit& a, const DurationFit& b) { return a.aic < b.aic; }));
  // Between 0 and 4 a quarter is done after each: the steps stand out by a quarter.
  DurationLaw law{DurationKind::uniform};
  law.most = Seconds{4.0};
  CHECK(distance_of(law, {1.0, 2.0, 3.0, 4.0}) == Approx(0.25));
  CHECK(distance_of(law, {4.0}) == Approx(1.0));
  CHECK(distance_of({DurationKind::fixed, Seconds{2.0}}, {2.0, 2.0}) == 0.0);
  const auto same = fit_durations({60.0, 60.0, 60.0});
  REQUIRE(same.size() == 1);
  CHECK(same[0].law.kind == DurationKind::fixed);
}

TEST_CASE("duration fit: the law that durations were drawn from is found", "[planner][cluster]") {
  constexpr int count = 20000;
  const double near = 1.63 / std::sqrt(count);
  const auto check = [&](const std::function<double(Random&)>& draw, DurationKind kind, double mean,
                         double variation) {
    const auto values = drawn(count, draw);
    const auto fits = fit_durations(values);
    CAPTURE(name_of(kind), fits[0].law.mean().value(), fits[0].distance);
    // The exponential is a Gamma of variation 1, which AIC takes now and then.
    const bool is_exponential = kind == DurationKind::exponential;
    CHECK(
        (fits[0].law.kind == kind || (is_exponential && fits[0].law.kind == DurationKind::gamma)));
    // Four standard errors of a mean.
    CHECK(fits[0].law.mean().value() ==
          Approx(mean).epsilon(4.0 * std::max(variation, 0.1) / std::sqrt(count)));
    CHECK(std::sqrt(fits[0].law.squared_variation()) == Approx(variation).epsilon(0.06));
    CHECK(fits[0].distance < near);
    // The others do not hold, so that the distance tells laws apart.
    for (std::size_t i = 1; i < fits.size(); ++i)
      if (!is_exponential || fits[i].law.kind == DurationKind::lognormal ||
          fits[i].law.kind == DurationKind::uniform)
        CHECK(fits[i].distance > near);
  };
  check([](Random& random) { return random.exponential(Seconds{3600.0}); },
        DurationKind::exponential, 3600.0, 1.0);
  const double variance = std::log1p(4.0);
  check(
      [&](Random& random) {
        return 3600.0 * std::exp(std::sqrt(variance) * random.normal() - 0.5 * variance);
      },
      DurationKind::lognormal, 3600.0, 2.0);
  check([](Random& random) { return 3600.0 * random.unit_gamma(4.0); }, DurationKind::gamma, 3600.0,
        0.5);
  check([](Random& random) { return 3600.0 * random.unit_gamma(0.25); }, DurationKind::gamma,
        3600.0, 2.0);
  check([](Random& random) { return 100.0 + 200.0 * random.uniform(); }, DurationKind::uniform,
        200.0, 200.0 / std::sqrt(12.0) / 200.0);
}

TEST_CASE("duration fit: measured durations keep their mean", "[planner][cluster]") {
  const auto values = drawn(1000, [](Random& random) { return std::exp(3.0 * random.normal()); });
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 1000.0;
  for (const std::size_t most : {1UL, 7UL, 200UL, 1000UL, 5000UL}) {
    const DurationLaw law = measured_durations(values, most);
    CAPTURE(most);
    CHECK(law.values.size() == std::min<std::size_t>(most, 1000));
    CHECK(law.mean().value() == Approx(mean));
    CHECK(std::is_sorted(law.values.begin(), law.values.end()));
  }
  CHECK(measured_durations(values, 5000).values[17].value() == Approx(values[17]));
  CHECK(distance_of(measured_durations(values, 200), values) <= 1.0 / 200.0 + 1e-9);
}

TEST_CASE("arrival fit: a process without cycles shows none", "[planner][cluster]") {
  const LogWindow window{0.0, 120.0 * day_seconds};
  const auto submits = submitted(120.0, 40.0, evenly);
  const ArrivalFit fit = fit_arrivals(submits, window);
  CHECK(fit.law.rate * days == Approx(40.0).epsilon(4.0 / std::sqrt(4800.0)));
  REQUIRE(fit.day);
  CHECK(fit.day->periods == 120);
  CHECK(!fit.day->taken);
  REQUIRE(fit.week);
  CHECK(fit.week->periods == 17);
  CHECK(!fit.week->taken);
  CHECK(fit.distance < 1.63 / std::sqrt(static_cast<double>(fit.gaps)));
  CHECK(*fit.dispersion == Approx(1.0).margin(0.5));
  CHECK(!fit.growth);
  // Two weeks tell days apart, and no weeks.
  const ArrivalFit brief = fit_arrivals(submitted(15.0, 40.0, evenly), {0.0, 15.0 * day_seconds});
  CHECK(brief.day);
  CHECK(!brief.week);
  CHECK(!fit_arrivals({0.0, 1.0}, {0.0, 1.0}).day);
}

TEST_CASE("arrival fit: cycles are found with their rates", "[planner][cluster]") {
  // Nights have a quarter of the rate, Saturdays and Sundays a fifth.
  const auto share = [](double time) {
    const double hour = std::fmod(time, day_seconds) / 3600.0;
    const double day = std::fmod(time, 7.0 * day_seconds) / day_seconds;
    return (hour >= 8.0 && hour < 20.0 ? 1.0 : 0.25) * (day < 5.0 ? 1.0 : 0.2);
  };
  const LogWindow window{0.0, 364.0 * day_seconds};
  const auto submits = submitted(364.0, 100.0, share);
  const ArrivalFit fit = fit_arrivals(submits, window);
  REQUIRE(fit.day->taken);
  REQUIRE(fit.week->taken);
  // The means of the shares are 0.625 and 5.4 / 7.
  CHECK(fit.law.rate * days == Approx(100.0 * 0.625 * 5.4 / 7.0).epsilon(0.03));
  CHECK(fit.law.day.at(3) / 100.0 == Approx(0.25 / 0.625).epsilon(0.15));
  CHECK(fit.law.day.at(12) / 100.0 == Approx(1.0 / 0.625).epsilon(0.15));
  CHECK(fit.law.week.at(2) / 100.0 == Approx(7.0 / 5.4).epsilon(0.1));
  CHECK(fit.law.week.at(6) / 100.0 == Approx(0.2 * 7.0 / 5.4).epsilon(0.15));
  CHECK(fit.distance < 1.63 / std::sqrt(static_cast<double>(fit.gaps)));
  CHECK(*fit.dispersion == Approx(1.0).margin(0.4));
  // Without the cycles the gaps are not those of an even process.
  const ArrivalFit blind = fit_arrivals(submitted(13.0, 100.0, share), {0.0, 13.0 * day_seconds});
  CHECK(!blind.day);
  CHECK(blind.distance > 1.63 / std::sqrt(static_cast<double>(blind.gaps)));
}

TEST_CASE("arrival fit: bursts are no cycle, and growth is said", "[planner][cluster]") {
  const ArrivalFit bursts =
      fit_arrivals(submitted(120.0, 4.0, evenly, 30), {0.0, 120.0 * day_seconds});
  CHECK(!bursts.day->taken);
  CHECK(!bursts.week->taken);
  CHECK(!bursts.growth);
  CHECK(*bursts.dispersion == Approx(30.0).epsilon(0.3));
  const auto doubling = [](double time) { return time < 60.0 * day_seconds ? 0.5 : 1.0; };
  const ArrivalFit grown =
      fit_arrivals(submitted(120.0, 40.0, doubling), {0.0, 120.0 * day_seconds});
  REQUIRE(grown.growth);
  CHECK(*grown.growth == Approx(2.0).epsilon(0.15));
}

}  // namespace foretrain
