// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

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

/// One request that ended, times in seconds from the start.
struct ServedRequest {
  double submitted = 0.0;
  double started = 0.0;  ///< first in a step
  double first_token = 0.0;
  double ended = 0.0;
  int prompt = 0;
  int output = 0;
  int preempted = 0;  ///< times its cache was given up and computed again

  /// Mean time between tokens behind the first; zero of answers of one token.
  [[nodiscard]] double per_token() const {
    return output > 1 ? (ended - first_token) / (output - 1) : 0.0;
  }
};

/// How often gaps between steps that yield tokens were so long: classes of 1 %, from 1 us on.
class GapHistogram {
 public:
  void add(double seconds, double count);
  [[nodiscard]] double count() const { return total_; }
  [[nodiscard]] double mean() const { return total_ > 0.0 ? sum_ / total_ : 0.0; }
  /// The middle of the class that holds that share of all. @pre 0 < share <= 1
  [[nodiscard]] double percentile(double share) const;

 private:
  std::vector<double> counts_;
  double total_ = 0.0;
  double sum_ = 0.0;
};

/// Means over one of equal parts of the time that is counted.
struct ServingBin {
  double waiting = 0.0;  ///< requests
  double running = 0.0;  ///< requests
  double tokens = 0.0;   ///< of answers, in the whole part
};

/// What a run saw. "Counted" is the time from the end of the warm-up to the end of the load: of its
/// duration, or where a number of requests ends it, the last answer. Requests count that were
/// submitted then; where more comes than is served, many of them are answered only later.
struct ServingSample {
  bool complete = false;                  ///< false: stopped from outside
  std::vector<ServedRequest> requests{};  ///< counted, by their end
  std::vector<ServedRequest> early{};     ///< submitted before the counted time, answered in it
  GapHistogram gaps{};                    ///< between tokens of an answer
  std::int64_t submitted = 0;             ///< all, uncounted ones included
  std::int64_t rejected = 0;              ///< larger than the cache of a replica, however empty
  std::int64_t preemptions = 0;
  double counted_s = 0.0;
  double counted_until_s = 0.0;    ///< its end
  double last_answer_s = 0.0;      ///< when all is served
  double output_tokens = 0.0;      ///< in the counted time
  double all_output_tokens = 0.0;  ///< of the whole run
  double mean_waiting = 0.0;       ///< over the counted time, as the next three
  double mean_running = 0.0;
  double busy = 0.0;         ///< share of time that replicas of `serve` are in a step
  double decode_busy = 0.0;  ///< the same of `decode`
  int longest_queue = 0;
  int waiting_at_end = 0;      ///< when submissions end
  double most_cache = 0.0;     ///< share of blocks in use at most, of any replica
  double prefilled = 0.0;      ///< tokens computed by prefill, of the whole run
  double transferred = 0.0;    ///< bytes, of the whole run
  double asked = 0.0;          ///< tokens of prompts that were admitted, of the whole run
  double found = 0.0;          ///< of these what caches held
  double mean_replicas = 0.0;  ///< of `serve` that were there, starting ones included
  int most_replicas = 0;
  std::int64_t steps = 0;
  std::vector<ServingBin> bins{};
};

struct ServingRunOptions {
  int bins = 60;
  const std::atomic<bool>* stop = nullptr;  ///< set from outside to end early
};

/// Requests, those that wait at once, and steps of one run beyond which it is too large: minutes,
/// and a gigabyte. What surely comes to more is refused before it is simulated.
inline constexpr std::int64_t most_served_requests = 20'000'000;
inline constexpr int most_waiting_requests = 2'000'000;
inline constexpr std::int64_t most_serving_steps = 100'000'000;

/// Simulates a deployment step by step. The same model gives the same sample anywhere.
/// @throws TooLarge beyond the limits above
/// @pre is_bounded(model); timers give times above zero; scheduler.sequences * step_width <=
///   token_budget
[[nodiscard]] ServingSample simulate_serving(const ServingModel& model,
                                             const ServingRunOptions& options = {});

}  // namespace foretrain
