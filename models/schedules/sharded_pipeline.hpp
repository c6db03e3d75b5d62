// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/inputs/job.hpp"

namespace foretrain {

/// Sharded gradients and weights (ZeRO-2, ZeRO-3, FSDP) under a pipeline, as frameworks run them.
/// What each does, with sources: models/data/README.md, "Data parallelism".

/// Whether every backward pass scatters its gradients: from ZeRO-2 on, without a pipeline. Under
/// one, PyTorch's pipelining keeps whole gradients and scatters them once, when the stage has run
/// its last backward pass.
[[nodiscard]] bool scatters_every_pass(const Job& job);

/// Share of the forward passes of a stage that gather the weights of FSDP that reshards after a
/// forward pass (ZeRO-3): under a pipeline a backward pass leaves them gathered for the forward
/// pass after it, so that only those before the first backward pass gather. 1 without a pipeline.
/// @pre the plan is legal
[[nodiscard]] double gathering_forwards(const Job& job);

/// Why the framework of the job's stack cannot shard gradients under the job's pipeline; empty
/// where it can, or where nothing asks for it.
[[nodiscard]] std::string no_sharded_pipeline(const Job& job);

}  // namespace foretrain
