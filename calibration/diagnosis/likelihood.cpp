// SPDX-License-Identifier: Apache-2.0
#include "calibration/diagnosis/likelihood.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace foretrain {
namespace {

/// ln of the density of Student's t with four degrees of freedom (3/8 (1 + t^2/4)^-2.5), scaled.
double ln_density(double apart, double deviation) {
  const double t = apart / deviation;
  return std::log(0.375) - 2.5 * std::log1p(t * t / 4.0) - std::log(deviation);
}

/// With another deviation on either side.
double ln_density(double apart, const ForecastError& error) {
  const double mean = 0.5 * (error.below + error.above);
  const double t = apart / (apart < 0.0 ? error.below : error.above);
  return std::log(0.375) - 2.5 * std::log1p(t * t / 4.0) - std::log(mean);
}

std::string beside(std::string_view what, double measured, double expected) {
  return fmt::format("{} {:.3g} s, {:.3g} s expected", what, measured, expected);
}

class Comparer {
 public:
  /// @param words false: for the densities alone
  Comparer(const MeasuredRun& measured, const ExpectedRun& expected, const ForecastError& error,
           bool words)
      : measured_{measured}, expected_{expected}, error_{error}, words_{words} {}

  std::vector<ComparedQuantity> compare() {
    if (timed(LogSection::forward) && timed(LogSection::backward)) {
      of_passes();
    } else {
      add(
          "step", [&] { return beside("step", measured_.step, expected_.step); },
          ln_density(std::log(measured_.step / expected_.step), error_));
    }
    of_exchange();
    of_share(LogSection::optimizer, 0.6, 0.02);
    of_share(LogSection::input, 0.3, 0.02);
    of_gap();
    of_memory();
    return std::move(all_);
  }

 private:
  [[nodiscard]] bool timed(LogSection section) const {
    const auto found = measured_.sections.find(section);
    return found != measured_.sections.end() && found->second.most > 0.0;
  }
  [[nodiscard]] double most(LogSection section) const {
    return measured_.sections.at(section).most;
  }
  [[nodiscard]] double expected(LogSection section) const {
    return expected_.sections.at(section).most;
  }

  template <class What>
  void add(std::string_view key, const What& what, double ln) {
    if (words_)
      all_.push_back({std::string(key), what(), ln});
    else
      all_.push_back({{}, {}, ln});
  }

  /// Their sum has the error of the step; the ratio of both is known much better.
  void of_passes() {
    constexpr double ratio_deviation = 0.07;
    const double forward = most(LogSection::forward);
    const double backward = most(LogSection::backward);
    const double forward_expected = expected(LogSection::forward);
    const double backward_expected = expected(LogSection::backward);
    const double both = forward_expected + backward_expected;
    add(
        "passes", [&] { return beside("forward and backward passes", forward + backward, both); },
        ln_density(std::log((forward + backward) / both), error_));
    add(
        "ratio of passes",
        [&] {
          return fmt::format("backward takes {:.2f} times as long as forward, {:.2f} expected",
                             backward / forward, backward_expected / forward_expected);
        },
        ln_density(std::log(backward / forward) - std::log(backward_expected / forward_expected),
                   ratio_deviation));
    double rest = measured_.step - forward - backward;
    double rest_expected = expected_.step - both;
    for (const LogSection section :
         {LogSection::gradients, LogSection::optimizer, LogSection::input}) {
      if (!timed(section)) continue;
      rest -= most(section) + (section == LogSection::gradients ? parameters() : 0.0);
      rest_expected -= expected(section);
    }
    const double scale = expected_.step;
    const double deviation = std::hypot(0.05, 0.4 * rest_expected / scale);
    add(
        "rest of the step", [&] { return beside("the rest of the step", rest, rest_expected); },
        ln_density((rest - rest_expected) / scale, deviation));
  }

  [[nodiscard]] double parameters() const {
    return timed(LogSection::parameters) ? most(LogSection::parameters) : 0.0;
  }

  /// Gradients and weights: the forecast has them together.
  void of_exchange() {
    if (!timed(LogSection::gradients)) return;
    const double took = most(LogSection::gradients) + parameters();
    const double forecast = expected(LogSection::gradients);
    const double deviation = std::hypot(0.02, 0.35 * forecast / expected_.step);
    add(
        "gradient exchange",
        [&] { return beside("exchange of gradients and weights", took, forecast); },
        ln_density((took - forecast) / expected_.step, deviation));
  }

  void of_share(LogSection section, double relative, double floor) {
    if (!timed(section)) return;
    const double forecast = expected(section);
    const double deviation = std::hypot(floor, relative * forecast / expected_.step);
    add(
        name_of(section), [&] { return beside(name_of(section), most(section), forecast); },
        ln_density((most(section) - forecast) / expected_.step, deviation));
  }

  /// How far the ranks are apart: stages may have other work, replicas have the same.
  void of_gap() {
    constexpr double deviation = 0.04;
    const auto gap = [&](double least, double most_of_all) {
      return least > 0.0 ? std::log(most_of_all / least) : 0.0;
    };
    const auto tell = [&](std::string_view what, double measured, double forecast) {
      add(
          "ranks apart",
          [&] {
            return fmt::format(
                "{} of the slowest rank take {:.2f} times those of the fastest, {:.2f} expected",
                what, std::exp(measured), std::exp(forecast));
          },
          ln_density(measured - forecast, deviation));
    };
    const auto expected_gap = [&](LogSection section) {
      const ExpectedSection& times = expected_.sections.at(section);
      return gap(times.least, times.most);
    };
    if (const auto found = measured_.sections.find(LogSection::backward);
        found != measured_.sections.end() && found->second.most > found->second.least) {
      tell("backward passes", gap(found->second.least, found->second.most),
           expected_gap(LogSection::backward));
    } else if (measured_.rank_gap && *measured_.rank_gap >= 1.0) {
      tell("passes", std::log(*measured_.rank_gap), expected_gap(LogSection::backward));
    }
  }

  void of_memory() {
    const double forecast = measured_.reserved ? expected_.reserved : expected_.allocated;
    if (!measured_.memory || forecast <= 0.0) return;
    constexpr double gibi = 1073741824.0;
    const double deviation = measured_.reserved ? 0.08 : 0.05;
    add(
        "memory",
        [&] {
          return fmt::format("{:.1f} GiB of memory, {:.1f} GiB expected", *measured_.memory / gibi,
                             forecast / gibi);
        },
        ln_density(std::log(*measured_.memory / forecast), deviation));
  }

  const MeasuredRun& measured_;
  const ExpectedRun& expected_;
  const ForecastError& error_;
  bool words_;
  std::vector<ComparedQuantity> all_;
};

}  // namespace

ForecastError forecast_error(const StepForecast& step) {
  constexpr double z90 = 1.2815515655446004;
  constexpr double least = 0.03;
  return {std::max(least, std::log(step.time / step.low) / z90),
          std::max(least, std::log(step.high / step.time) / z90)};
}

std::vector<ComparedQuantity> compare_run(const MeasuredRun& measured, const ExpectedRun& expected,
                                          const ForecastError& error) {
  return Comparer(measured, expected, error, true).compare();
}

double ln_likelihood(const MeasuredRun& measured, const ExpectedRun& expected,
                     const ForecastError& error) {
  double sum = 0.0;
  for (const ComparedQuantity& one : Comparer(measured, expected, error, false).compare())
    sum += one.ln;
  return sum;
}

double ln_unexplained(const ComparedQuantity& comparison) {
  // Of ln(measured / forecast): between half and five times; of shares: up to a whole step.
  constexpr double wide = std::numbers::ln10;
  const bool share = comparison.key == "rest of the step" || comparison.key == "gradient exchange";
  const double flat = share ? 1.0 : 1.0 / wide;
  return std::log(0.5 * std::exp(comparison.ln) + 0.5 * flat);
}

}  // namespace foretrain
