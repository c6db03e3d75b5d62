// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "sim/serving/serving_run.hpp"

namespace foretrain {

/// Of a time in seconds. Percentiles lie between the two nearest ranks.
struct ServingTimes {
  double mean = 0.0;
  double p50 = 0.0;
  double p90 = 0.0;
  double p95 = 0.0;
  double p99 = 0.0;
};

/// Limits that a request keeps or not; absent: any time will do.
struct ServingLimits {
  std::optional<Seconds> ttft{};  ///< time to the first token
  std::optional<Seconds> tpot{};  ///< time per token of the answer behind the first

  [[nodiscard]] bool any() const { return ttft || tpot; }
};

/// What users of a deployment see: times of the requests that came in the counted time, rates of
/// what was answered in it.
struct ServingSummary {
  std::int64_t requests = 0;  ///< that came
  ServingTimes ttft{};
  ServingTimes tpot{};               ///< of requests with two tokens and more, each with its mean
  ServingTimes itl{};                ///< gaps between tokens, one by one; to 1 %
  ServingTimes queue{};              ///< from submission to the first step
  ServingTimes whole{};              ///< from submission to the last token
  double submitted_per_s = 0.0;      ///< what came
  double requests_per_s = 0.0;       ///< answered, never what came
  double output_tokens_per_s = 0.0;  ///< generated
  double prompt_tokens_per_s = 0.0;  ///< of the answered requests
  double within_limits = 1.0;        ///< share of requests that keep both limits
  double goodput_per_s = 0.0;        ///< answered requests per second that keep both
  /// More comes than is served: the queue at the end of submissions holds a twentieth of all, or
  /// ever more requests are under way: in the last quarter of the counted time a third more than in
  /// the second.
  bool overloaded = false;
};

[[nodiscard]] ServingSummary summary_of(const ServingSample& sample, const ServingLimits& limits);

}  // namespace foretrain
