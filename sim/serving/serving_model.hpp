// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "models/base/quantity.hpp"
#include "models/serving/forward_step.hpp"
#include "models/serving/request_load.hpp"

namespace foretrain {

/// Time from the start of a step until its tokens are there and the next step may start.
using StepTimer = std::function<Seconds(const ServingBatch&)>;

/// Replicas that are alike.
struct ServingPool {
  int replicas = 1;
  BatchScheduler scheduler{};
  std::int64_t blocks = 0;  ///< of the cache, per replica
  /// Tokens of an answer that a step yields per sequence, the accepted drafts of speculation
  /// included. @pre >= 1
  double tokens_per_step = 1.0;
  int step_width = 1;  ///< tokens of the budget that a sequence takes in a step, drafts included
  StepTimer timer{};
};

/// The way of a cache from a replica that prefills to one that decodes.
struct CacheTransfer {
  Bytes per_token{};      ///< of the part of one GPU that sends
  BytesPerSecond rate{};  ///< of each of these, one transfer of a replica after the other
  Seconds latency{};      ///< of each transfer
  int senders = 1;        ///< GPUs that hold a part of a request's cache
};

/// A deployment and what is asked of it. With `decode`, `serve` prefills alone and hands over.
struct ServingModel {
  RequestLoad load{};
  Routing routing = Routing::least_load;
  Autoscaling autoscaling{};  ///< of `serve`, without `decode`
  ServingPool serve{};
  std::optional<ServingPool> decode{};
  CacheTransfer transfer{};
  Seconds before_queue{};  ///< from submission to a replica's queue: HTTP, tokenising,
                           ///< and what else a first token takes beyond steps
  Seconds duration{};      ///< nothing is submitted after; zero: no end but that of `load.requests`
  Seconds warm_up{};       ///< requests submitted before are served and not counted
  std::uint64_t seed = 1;
};

/// Whether every request of the load can be counted on to end: a duration or a number of requests,
/// or a trace.
[[nodiscard]] bool is_bounded(const ServingModel& model);

/// Blocks of a cache that `tokens` take. @pre block_tokens >= 1
[[nodiscard]] inline std::int64_t blocks_of(double tokens, int block_tokens) {
  const auto whole = static_cast<std::int64_t>(tokens);
  return (whole + block_tokens - 1) / block_tokens;
}

}  // namespace foretrain
