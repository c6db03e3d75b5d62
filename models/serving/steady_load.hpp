// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/quantity.hpp"
#include "models/serving/deployment.hpp"

namespace foretrain {

/// Requests of one length.
struct RequestLengths {
  double input = 0.0;   ///< tokens of the prompt
  double output = 0.0;  ///< tokens that are generated
  double cached = 0.0;  ///< of the prompt, found in the prefix cache
};

/// What a deployment delivers under a steady load; whole deployment, all replicas.
struct SteadyLoad {
  Seconds ttft;  ///< mean time to the first token
  Seconds tpot;  ///< mean time per output token after the first
  double output_tokens_per_s = 0.0;
  double running = 0.0;       ///< sequences in a step of one replica, mean
  Seconds step;               ///< mean step without prompts
  bool memory_bound = false;  ///< the cache limits the sequences, requests queue
};

/// A fixed number of clients, each of which sends its next request when the last one is answered.
/// Closed form: models/serving/README.md, "Steady load".
/// @pre concurrency >= 1, lengths >= 1
[[nodiscard]] SteadyLoad closed_loop(const Deployment& deployment, const RequestLengths& lengths,
                                     double concurrency);

/// All requests there at once: as many sequences as fit.
/// @param requests of the whole batch job; 0: without end
[[nodiscard]] SteadyLoad offline(const Deployment& deployment, const RequestLengths& lengths,
                                 double requests = 0.0);

}  // namespace foretrain
