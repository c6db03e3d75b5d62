// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "models/inputs/job.hpp"
#include "models/layers/flops.hpp"

namespace foretrain {

/// FLOPs of an optimizer step of a job.
struct StepFlops {
  Flop model;     ///< what MFU counts: of samples' tokens, without gradients that nobody needs
  Flop hardware;  ///< with pads and what is recomputed
};

/// Where everything is trained on rows of one sample each: flops_per_step(). Else operator by
/// operator: frozen weights have no gradients of their own, attention is of samples, and a
/// reference has a forward pass. models/layers/README.md, "Fine-tuning".
[[nodiscard]] StepFlops job_flops(const Job& job, RecomputeKind recompute,
                                  AttentionFlops attention);

/// Parameters of the whole model as the job has it: adapters are parameters beside the model's.
struct JobParameters {
  std::int64_t adapters = 0;
  std::int64_t trained = 0;  ///< adapters included
};
[[nodiscard]] JobParameters job_parameters(const Job& job);

}  // namespace foretrain
