// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cmath>

#include "models/base/parallel.hpp"
#include "models/base/percentile.hpp"
#include "models/base/random.hpp"
#include "models/base/require.hpp"
#include "sim/lives/run_simulation.hpp"

namespace foretrain {
namespace {

/// Of the standard normal distribution.
constexpr double tenth_percentile = 1.2815515655446004;

struct Outcome {
  RunSplit split;
  double goodput = 0.0;
  double interruptions = 0.0;
  double checkpoints = 0.0;
  bool ended = false;  ///< false: stopped before its turn
};

/// Trials, as many as there was time for; no result once one was too long.
struct Trials {
  std::vector<Outcome> outcomes;
  std::atomic<bool> too_long{false};
};

/// How much slower than forecast the steps of this trial are: two halves of log-normal
/// distributions that meet at 1, with the given percentiles.
double step_factor(const RunSpreadOptions& options, Random& random) {
  const double z = random.normal();
  const double side = z < 0.0 ? -std::log(options.step_low) : std::log(options.step_high);
  return std::exp(side * z / tenth_percentile);
}

/// Productive time over duration, in 0..1.
double goodput_of(const RunSplit& split) {
  const Seconds total = split.total();
  return is_finite(total) && total > Seconds{} ? std::clamp(split.steps / total, 0.0, 1.0) : 0.0;
}

Outcome one_trial(const RunModel& model, const RunSpreadOptions& options, int trial,
                  std::atomic<bool>& too_long) {
  Random random{options.seed + static_cast<std::uint64_t>(trial) * 0x9FB21C651E98DF25ULL};
  RunModel varied = model;
  varied.ideal *= step_factor(options, random);
  const RunTrial result = simulate_run(varied, random.bits());
  if (!result.complete) too_long = true;
  return {result.split, goodput_of(result.split), result.interruptions, result.checkpoints, true};
}

void run_trials(const RunModel& model, const RunSpreadOptions& options, Trials& trials) {
  const auto must_end = [&] {
    return trials.too_long || (options.stop != nullptr && options.stop->load());
  };
  if (must_end()) return;
  trials.outcomes.resize(static_cast<std::size_t>(options.trials));
  parallel_for(trials.outcomes.size(), options.threads, [&](std::size_t trial) {
    if (must_end()) return;
    trials.outcomes[trial] = one_trial(model, options, static_cast<int>(trial), trials.too_long);
  });
  std::erase_if(trials.outcomes, [](const Outcome& outcome) { return !outcome.ended; });
}

void add(RunSplit& sum, const RunSplit& part, double weight) {
  for (Seconds RunSplit::*row : {&RunSplit::steps, &RunSplit::evaluation, &RunSplit::checkpoints,
                                 &RunSplit::slow, &RunSplit::lost, &RunSplit::detection,
                                 &RunSplit::restart, &RunSplit::planned, &RunSplit::waiting})
    sum.*row += part.*row * weight;
}

}  // namespace

std::optional<RunSpread> simulate_runs(const RunModel& model, const RunSpreadOptions& options) {
  FORETRAIN_REQUIRE(options.trials >= 1 && options.step_low > 0.0 && options.step_low <= 1.0 &&
                    options.step_high >= 1.0);
  Trials trials;
  run_trials(model, options, trials);
  if (trials.too_long || trials.outcomes.empty()) return std::nullopt;
  RunSpread spread;
  spread.trials = static_cast<int>(trials.outcomes.size());
  const double weight = 1.0 / spread.trials;
  std::vector<double> totals;
  std::vector<double> goodputs;
  int in_time = 0;
  for (const Outcome& outcome : trials.outcomes) {
    totals.push_back(outcome.split.total().value());
    add(spread.split, outcome.split, weight);
    spread.interruptions += outcome.interruptions * weight;
    spread.checkpoints += outcome.checkpoints * weight;
    goodputs.push_back(outcome.goodput);
    if (options.deadline && totals.back() <= options.deadline->value()) ++in_time;
  }
  spread.mean = spread.split.total();
  spread.p10 = Seconds{percentile_of(totals, 0.1)};
  spread.p50 = Seconds{percentile_of(totals, 0.5)};
  spread.p90 = Seconds{percentile_of(totals, 0.9)};
  spread.goodput_p10 = percentile_of(goodputs, 0.1);
  spread.goodput_p90 = percentile_of(goodputs, 0.9);
  if (options.deadline)
    spread.meets_deadline = static_cast<double>(in_time) / static_cast<double>(spread.trials);
  return spread;
}

}  // namespace foretrain
