// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/job.hpp"
#include "models/quantity.hpp"
#include "models/stage_layout.hpp"

namespace foretrain {

/// Passes of the last micro-batch and the first of the next step, which overlapped gradient and
/// parameter traffic can hide behind.
struct OverlapWindows {
  Seconds backward;
  Seconds forward;
};

/// Exposed time per optimizer step of what data-parallel ranks tell each other on one stage:
/// gradients (all-reduce, or reduce-scatter with ZeRO-1), updated parameters (all-gather with
/// ZeRO-1), tied embeddings. models/README.md, "Data parallelism".
/// @pre parallel.zero is 0 or 1.
[[nodiscard]] Seconds data_parallel_time(const Job& job, const StageLayout& layout, int stage,
                                         const OverlapWindows& windows);

/// Time of the optimizer on one rank's shard: its states read and written once, gradients read
/// twice (norm, update), weights written; memory-bound.
[[nodiscard]] Seconds optimizer_time(const Job& job, const StageLayout& layout, int stage);

}  // namespace foretrain
