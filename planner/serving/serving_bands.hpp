// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>

#include "models/serving/engine_bands.hpp"
#include "planner/answer/verdict.hpp"
#include "planner/serving/serving_deployment.hpp"
#include "sim/serving/serving_summary.hpp"

namespace foretrain {

/// The same load on the deployment at one end of its band: every step takes as much longer, or
/// shorter, as the band of throughput says.
struct ServingEnd {
  ServingSummary summary{};
  Seconds ttft{};   ///< at the percentile of the goals
  Seconds queue{};  ///< of it before the first step
};

/// What arithmetic allows of the band where requests come by themselves: a deployment that keeps up
/// answers what comes and no more, one that does not has a queue that grows without end. Clients
/// that wait for their answers ask less of a slower deployment: neither end is simulated.
struct ServingEnds {
  std::optional<ServingEnd> slow;  ///< absent where the forecast itself is overloaded
  std::optional<ServingEnd> fast;  ///< absent where the forecast keeps up and keeps its goals

  bool asked = false;      ///< requests come by themselves
  bool unbounded = false;  ///< the slow end has a queue that grows without end
};

/// @param keeps_goals whether the forecast itself does
/// @pre ready.reasons is empty @throws TooLarge
[[nodiscard]] ServingEnds serving_ends(const ReadyServing& ready, const ServingSummary& forecast,
                                       const ServingBands& bands, bool keeps_goals,
                                       const std::atomic<bool>* stop);

/// A rate that goes with the output; never above what is asked for.
[[nodiscard]] Banded rate_band(double rate, const ServingBands& bands, const ServingEnds& ends,
                               const ServingSummary& forecast);

/// A time to the first token and what of it is waited before the first step.
struct FirstToken {
  double ttft = 0.0;
  double queue = 0.0;
};

/// The upper end is infinite where the slow one does not keep up.
/// @param slow, fast the same at the ends; looked at where these are there
[[nodiscard]] Banded ttft_band(const FirstToken& forecast, const ServingBands& bands,
                               const ServingEnds& ends, const FirstToken& slow,
                               const FirstToken& fast);

}  // namespace foretrain
