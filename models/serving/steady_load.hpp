// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/quantity.hpp"
#include "models/serving/deployment.hpp"
#include "models/serving/forward_step.hpp"

namespace foretrain {

/// How the lengths of answers are spread around their mean: not at all, within a fifth of it,
/// evenly from none to twice the mean, or exponentially, as those of conversations are.
enum class LengthSpread { none, narrow, even, exponential };

/// Requests of these mean lengths.
struct RequestLengths {
  double input = 0.0;                        ///< tokens of the prompt
  double output = 0.0;                       ///< tokens that are generated
  double cached = 0.0;                       ///< of the prompt, found in the prefix cache
  LengthSpread spread = LengthSpread::none;  ///< of answers
};

/// A fixed number of clients, each of which sends its next request when the last one is answered.
struct ClosedLoad {
  double concurrency = 1.0;
  /// Of a benchmark that starts all clients at once: the first requests wait for each other. 0: a
  /// load without beginning.
  double requests_per_client = 0.0;
  /// Asked for is the time to the first token of most requests, not the mean: without the start's.
  bool median_first_token = false;
};

/// What a deployment delivers under a steady load; whole deployment, all replicas.
struct SteadyLoad {
  Seconds ttft;  ///< mean time to the first token
  Seconds tpot;  ///< mean time per output token after the first
  double output_tokens_per_s = 0.0;
  double running = 0.0;      ///< sequences that one replica decodes at once, mean
  Seconds step;              ///< mean step without prompts
  Seconds prompt;            ///< what one prompt adds to the steps that compute it
  Seconds queueing;          ///< of ttft: waiting for other prompts and for room in the cache
  bool cache_bound = false;  ///< the cache limits the sequences, requests queue for it
};

/// A deployment made ready to answer requests of one length: closed forms of
/// models/serving/README.md, "Steady load". Making it costs more than an answer.
class SteadyServing {
 public:
  /// @pre lengths >= 1, deployment_reasons(deployment) is empty
  SteadyServing(const Deployment& deployment, const RequestLengths& lengths);

  /// The same deployment on an engine with other constants.
  [[nodiscard]] SteadyServing with(const EngineTimes& times) const;

  /// @pre concurrency >= 1
  [[nodiscard]] SteadyLoad closed_loop(const ClosedLoad& load) const;

  /// All requests there at once: as many sequences as fit.
  /// @param requests of the whole batch job; 0: without end
  [[nodiscard]] SteadyLoad offline(double requests = 0.0) const;

 private:
  /// What prompts take that are computed together in the steps of one of them.
  struct Prompts {
    double count = 1.0;
    Seconds added;    ///< to the steps that compute them, all together
    Seconds latency;  ///< from their first step to its last one's end
    Seconds first;    ///< from there until their first tokens are out
  };
  /// Steps of a replica that decodes a number of sequences while prompts come in.
  struct Steps {
    Seconds decode;  ///< the mean step without prompts
    Prompts least;   ///< one at a time, of every attention group
    Prompts most;    ///< as many as a step has room for

    /// In proportion between the least and the most.
    [[nodiscard]] Prompts together(double count) const;
  };

  [[nodiscard]] Steps steps(double running) const;
  [[nodiscard]] Prompts prompts(double sequences, double count, Seconds decode) const;
  [[nodiscard]] StepTime prompt_step(double sequences, double prompts) const;
  [[nodiscard]] double pieces(double sequences) const;
  [[nodiscard]] Seconds drain(double running) const;
  /// Prompts computed with those of other answers that start in the same step, offline.
  [[nodiscard]] Prompts offline_prompts(const Steps& now, double running) const;
  /// So many answers from the first prompt to the last token, offline.
  [[nodiscard]] Seconds wave(double running) const;

  ForwardPass pass_;
  RequestLengths lengths_;
  ServingLayout layout_;
  EngineRules rules_;
  EngineTimes times_;
  double tokens_per_step_ = 1.0;
  double fresh_ = 0.0;  ///< tokens of a prompt that are computed
  double room_ = 0.0;   ///< sequences of this length that a replica decodes at once at most
};

/// For a single question. @pre as of SteadyServing
[[nodiscard]] SteadyLoad closed_loop(const Deployment& deployment, const RequestLengths& lengths,
                                     const ClosedLoad& load);
[[nodiscard]] SteadyLoad offline(const Deployment& deployment, const RequestLengths& lengths,
                                 double requests = 0.0);

}  // namespace foretrain
