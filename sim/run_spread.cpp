// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "models/require.hpp"
#include "sim/internal/random.hpp"
#include "sim/run_simulation.hpp"

namespace foretrain {
namespace {

/// Of the standard normal distribution.
constexpr double tenth_percentile = 1.2815515655446004;

struct Outcome {
  RunSplit split;
  double interruptions = 0.0;
  double checkpoints = 0.0;
};

/// How much slower than forecast the steps of this trial are: two halves of log-normal
/// distributions that meet at 1, with the given percentiles.
double step_factor(const RunSpreadOptions& options, internal::Random& random) {
  const double z = random.normal();
  const double side = z < 0.0 ? -std::log(options.step_low) : std::log(options.step_high);
  return std::exp(side * z / tenth_percentile);
}

Outcome one_trial(const RunModel& model, const RunSpreadOptions& options, int trial) {
  internal::Random random{options.seed + static_cast<std::uint64_t>(trial) * 0x9FB21C651E98DF25ULL};
  RunModel varied = model;
  varied.ideal *= step_factor(options, random);
  const RunTrial result = simulate_run(varied, random.bits());
  return {result.split, result.interruptions, result.checkpoints};
}

std::vector<Outcome> all_trials(const RunModel& model, const RunSpreadOptions& options) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(options.trials));
  std::atomic<int> next{0};
  const auto work = [&] {
    for (int trial = next++; trial < options.trials; trial = next++)
      outcomes[static_cast<std::size_t>(trial)] = one_trial(model, options, trial);
  };
  const int wanted =
      options.threads > 0 ? options.threads : static_cast<int>(std::thread::hardware_concurrency());
  std::vector<std::thread> helpers;
  for (int i = 1; i < std::min(wanted, options.trials); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  return outcomes;
}

/// Between the two nearest ranks. @pre sorted, not empty
double percentile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = place - static_cast<double>(below);
  return part == 0.0 ? sorted[below] : sorted[below] * (1.0 - part) + sorted[above] * part;
}

void add(RunSplit& sum, const RunSplit& part, double weight) {
  for (Seconds RunSplit::*row : {&RunSplit::steps, &RunSplit::evaluation, &RunSplit::checkpoints,
                                 &RunSplit::slow, &RunSplit::lost, &RunSplit::detection,
                                 &RunSplit::restart, &RunSplit::planned, &RunSplit::waiting})
    sum.*row += part.*row * weight;
}

}  // namespace

RunSpread simulate_runs(const RunModel& model, const RunSpreadOptions& options) {
  FORETRAIN_REQUIRE(options.trials >= 1 && options.step_low > 0.0 && options.step_low <= 1.0 &&
                    options.step_high >= 1.0);
  const std::vector<Outcome> outcomes = all_trials(model, options);
  const double weight = 1.0 / options.trials;
  RunSpread spread;
  std::vector<double> totals;
  double in_time = 0.0;
  for (const Outcome& outcome : outcomes) {
    totals.push_back(outcome.split.total().value());
    add(spread.split, outcome.split, weight);
    spread.interruptions += outcome.interruptions * weight;
    spread.checkpoints += outcome.checkpoints * weight;
    if (options.deadline && totals.back() <= options.deadline->value()) in_time += weight;
  }
  spread.mean = spread.split.total();
  std::sort(totals.begin(), totals.end());
  spread.p10 = Seconds{percentile(totals, 0.1)};
  spread.p50 = Seconds{percentile(totals, 0.5)};
  spread.p90 = Seconds{percentile(totals, 0.9)};
  spread.goodput_p10 = model.ideal / spread.p90;
  spread.goodput_p90 = model.ideal / spread.p10;
  if (options.deadline) spread.meets_deadline = in_time;
  return spread;
}

}  // namespace foretrain
