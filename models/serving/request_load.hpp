// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/quantity.hpp"

namespace foretrain {

/// How requests come: as a Poisson process, evenly spaced, from as many clients as `concurrency`
/// says, each of which asks again when its answer is there, or at the times of a list.
enum class ArrivalKind { poisson, constant, closed, trace };
FORETRAIN_ENUM_NAMES(ArrivalKind, {ArrivalKind::poisson, "poisson"},
                     {ArrivalKind::constant, "constant"}, {ArrivalKind::closed, "closed"},
                     {ArrivalKind::trace, "trace"});

/// Tokens of a part of requests: a mean, with a uniform spread around it or log-normal.
struct TokenLaw {
  double mean = 0.0;
  double jitter = 0.0;     ///< uniform between mean * (1 - jitter) and mean * (1 + jitter); in 0..1
  double variation = 0.0;  ///< log-normal with this standard deviation over mean
  int most = 0;            ///< longer draws are cut to it; 0: none are

  friend bool operator==(const TokenLaw&, const TokenLaw&) = default;
};

/// A request of a trace.
struct TracedRequest {
  Seconds at{};
  int prompt = 0;  ///< whole, what earlier turns brought included
  int output = 0;
  int session = -1;  ///< of whose turns it is one; -1: it stands alone
  Seconds wait{};    ///< of a later turn: from the answer before until it is asked
};

/// Conversations and agents: each turn begins with all that came before, and is asked a while after
/// the answer before it.
struct SessionLaw {
  int turns = 1;
  Seconds wait{};  ///< mean of an exponential: people who read, tools that run
};

/// What is asked of a deployment.
struct RequestLoad {
  ArrivalKind arrivals = ArrivalKind::poisson;
  double rate = 0.0;    ///< requests per second, of poisson and constant
  int concurrency = 0;  ///< clients, of closed
  int requests = 0;     ///< no more are submitted; 0: by `duration` alone
  TokenLaw prompt{};
  TokenLaw output{};
  int shared_prefix = 0;      ///< first tokens of every prompt, the same in all and cached once
  SessionLaw sessions{};      ///< `rate` and `requests` count their first turns
  double swing = 0.0;         ///< of poisson: `rate` times 1 - swing at the start, 1 + swing half a
                              ///< day later
  double prefix_reuse = 0.0;  ///< share of the other prompt tokens whose cache is there already
  std::vector<TracedRequest> trace{};  ///< by time; of trace
};

/// What one replica puts into a step, as vLLM, SGLang and TensorRT-LLM do.
struct BatchScheduler {
  int token_budget = 8192;      ///< tokens of one step, prefill and decode together
  int chunk_tokens = 0;         ///< of one prompt in a step at most; 0: token_budget
  int sequences = 256;          ///< requests that run at a time
  bool chunked_prefill = true;  ///< false: prompts whole, before all decoding
  int block_tokens = 16;        ///< of a block of the cache
  /// A request starts only where the cache of its whole answer fits; else caches grow.
  bool reserves_output = false;
};

/// Which replica a request goes to.
enum class Routing {
  round_robin,
  least_load,
  prefix  ///< where the cache of its earlier turns is, unless that replica has far more to do
};
FORETRAIN_ENUM_NAMES(Routing, {Routing::round_robin, "round-robin"},
                     {Routing::least_load, "least-load"}, {Routing::prefix, "prefix"});

/// Replicas that come and go with the load.
struct Autoscaling {
  int least = 0;           ///< replicas that always run; 0: all do
  double target = 0.0;     ///< requests per replica, running and waiting
  Seconds start{};         ///< from the decision until a replica serves
  Seconds interval{30.0};  ///< between decisions

  [[nodiscard]] bool on() const { return least > 0; }
};

}  // namespace foretrain
