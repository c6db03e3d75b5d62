// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "models/base/too_large.hpp"
#include "planner/serving/serving_study.hpp"

namespace foretrain {
namespace {

/// Chance that what is `ratio` 1 in the forecast turns out to be at most that.
double share_below(double ratio, const ResidualBand& band) {
  return chance_below({band.low, 1.0, band.high}, ratio);
}

bool keeps_up(const ServingReport& report, double pace, const std::atomic<bool>* stop) {
  try {
    return !summary_of(simulate_serving(serving_model(report.ready, pace), {60, stop}), {})
                .overloaded;
  } catch (const TooLarge&) {
    return false;
  }
}

/// The share of the forecast's throughput that the load needs, between the ends of the band and a
/// little beyond; halved until it is known to a few percent.
double chance_to_keep_up(const ServingReport& report, const std::atomic<bool>* stop) {
  constexpr int halvings = 4;
  const ResidualBand& band = report.bands.throughput;
  const bool over = report.summary.overloaded;
  const double end = over ? std::max(1.0, band.high) : std::min(1.0, band.low);
  double enough = over ? end * end : 1.0;
  double too_little = over ? 1.0 : end * end;
  for (int i = 0; i < halvings && enough > too_little; ++i) {
    // The ends themselves are known.
    const double middle = i == 0 ? end : std::sqrt(enough * too_little);
    const bool known = i == 0 && (over ? report.ends.fast : report.ends.slow).has_value();
    const bool kept = known ? !(over ? report.ends.fast : report.ends.slow)->summary.overloaded
                            : keeps_up(report, 1.0 / middle, stop);
    (kept ? enough : too_little) = middle;
  }
  return 1.0 - share_below(std::sqrt(enough * too_little), band);
}

}  // namespace

std::optional<double> chance_of_goals(const ServingReport& report, const std::atomic<bool>* stop) {
  if (report.goals.empty() && !report.ends.asked) return std::nullopt;
  if (report.sample.rejected > 0) return 0.0;
  double chance = report.ends.asked ? chance_to_keep_up(report, stop) : 1.0;
  for (const GoalVerdict& goal : report.goals) {
    const ResidualBand& band = goal.name == "ttft" ? report.bands.ttft : report.bands.tpot;
    // Of an overloaded deployment waiting times say how long it was watched.
    if (report.summary.overloaded && goal.name == "ttft") continue;
    if (goal.reached > Seconds{})
      chance = std::min(chance, share_below(goal.limit / goal.reached, band));
  }
  return chance;
}

}  // namespace foretrain
