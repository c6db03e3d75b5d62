// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/serving_bands.hpp"

#include <algorithm>
#include <limits>

#include "models/base/too_large.hpp"
#include "planner/serving/internal/goal_times.hpp"

namespace foretrain {
namespace {

ServingEnd end_of(const ReadyServing& ready, double pace, const std::atomic<bool>* stop) {
  const ServingSample sample = simulate_serving(serving_model(ready, pace), {60, stop});
  const ServingGoals& goals = ready.plan.goals;
  return {summary_of(sample, {goals.ttft, goals.tpot}),
          reached(sample, goals.percentile, internal::ttft_of),
          reached(sample, goals.percentile, internal::queue_of)};
}

/// Where so many wait that it is not played to its end, the saturated forecast slowed down.
ServingEnd slow_end(const ReadyServing& ready, const ServingSummary& forecast, double share,
                    const std::atomic<bool>* stop) {
  try {
    return end_of(ready, 1.0 / share, stop);
  } catch (const TooLarge&) {
    ServingEnd end{forecast};
    end.summary.overloaded = true;
    end.summary.output_tokens_per_s *= share;
    return end;
  }
}

}  // namespace

ServingEnds serving_ends(const ReadyServing& ready, const ServingSummary& forecast,
                         const ServingBands& bands, bool keeps_goals,
                         const std::atomic<bool>* stop) {
  ServingEnds ends;
  ends.asked = ready.plan.load.arrivals != ArrivalKind::closed;
  if (!ends.asked) return ends;
  const ResidualBand& band = bands.throughput;
  if (!forecast.overloaded && band.low < 1.0) ends.slow = slow_end(ready, forecast, band.low, stop);
  if (!keeps_goals && band.high > 1.0) ends.fast = end_of(ready, 1.0 / band.high, stop);
  ends.unbounded = forecast.overloaded || (ends.slow && ends.slow->summary.overloaded);
  return ends;
}

Banded rate_band(double rate, const ServingBands& bands, const ServingEnds& ends,
                 const ServingSummary& forecast) {
  const double output = forecast.output_tokens_per_s;
  const auto share = [&](const ServingEnd& end) {
    return output > 0.0 ? end.summary.output_tokens_per_s / output : 1.0;
  };
  // Requests at random differ a little from run to run.
  const double low = ends.slow ? std::min(1.0, share(*ends.slow)) : bands.throughput.low;
  const double high = ends.fast    ? std::max(1.0, share(*ends.fast))
                      : ends.asked ? 1.0
                                   : bands.throughput.high;
  return {rate * std::min(1.0, low), rate, rate * std::max(1.0, high)};
}

Banded ttft_band(const FirstToken& forecast, const ServingBands& bands, const ServingEnds& ends,
                 const FirstToken& slow, const FirstToken& fast) {
  Banded band{forecast.ttft * std::min(1.0, bands.ttft.low), forecast.ttft,
              forecast.ttft * std::max(1.0, bands.ttft.high)};
  if (ends.slow) band.high += std::max(0.0, slow.queue - forecast.queue);
  if (ends.fast) band.low = std::min(band.low, fast.ttft);
  if (ends.unbounded) band.high = std::numeric_limits<double>::infinity();
  return band;
}

}  // namespace foretrain
