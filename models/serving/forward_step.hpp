// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "models/base/quantity.hpp"
#include "models/serving/deployment.hpp"

namespace foretrain {

/// Tokens of one prompt that a step computes.
struct PrefillChunk {
  double tokens = 0.0;
  double cached = 0.0;  ///< tokens of the same request before them, in the cache already
};

/// What one step of one replica runs: chunks of prompts, and sequences that get their next token.
struct ServingBatch {
  std::span<const PrefillChunk> prefill{};
  double decode_sequences = 0.0;
  double cached_tokens = 0.0;     ///< of all decode sequences together
  double finished_prompts = 0.0;  ///< chunks that end their prompt: they are sampled, too
};

/// Time of one step by what takes it. All of one replica's pipeline, stage after stage.
struct StepTime {
  Seconds attention_projections;  ///< of attention, all products of it
  Seconds attention;              ///< over the prompt and the cache
  Seconds mlp;                    ///< dense MLPs and shared experts
  Seconds experts;                ///< with router
  Seconds state;                  ///< state-space and delta mixers
  Seconds elementwise;            ///< norms, activations, rotary, residuals
  Seconds tensor_exchange;        ///< all-reduces of tensor ranks
  Seconds expert_exchange;        ///< dispatch and combine, or gathers of attention-data ranks
  Seconds stage_exchange;         ///< between pipeline stages
  Seconds output;                 ///< embedding, projection to the vocabulary, sampling
  Seconds launch;                 ///< what launches exceed the kernels by
  Seconds host;                   ///< between steps
  Seconds draft;                  ///< speculation
  Seconds first;  ///< until tokens of prompts are out, beyond the step: no part of it
  /// From one batch to the next where as many batches as stages are under way: the slowest stage.
  Seconds interval;

  /// From the start of the step until its tokens are there.
  [[nodiscard]] Seconds total() const;
};

/// A deployment made ready to price steps: layers as short lists of kernels. A step costs a few
/// microseconds; making it about a hundred.
class ForwardPass {
 public:
  /// @pre deployment_reasons(deployment) is empty
  explicit ForwardPass(const Deployment& deployment);

  /// The same deployment on an engine with other constants; what was made ready is shared.
  [[nodiscard]] ForwardPass with(const EngineTimes& times) const;

  /// @pre the batch holds something; counts and lengths >= 0
  [[nodiscard]] StepTime step(const ServingBatch& batch) const;

 private:
  struct Priced;
  std::shared_ptr<const Priced> priced_;
  EngineTimes times_;
};

/// The same for a single question.
[[nodiscard]] StepTime step_time(const Deployment& deployment, const ServingBatch& batch);

}  // namespace foretrain
