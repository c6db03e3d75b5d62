// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "models/inputs/job.hpp"
#include "models/layers/flops.hpp"
#include "models/layers/layer_ends.hpp"
#include "models/layers/layer_operators.hpp"
#include "models/layers/parameters.hpp"
#include "models/layers/pass_times.hpp"

namespace foretrain {

// A vision tower is a model whose rows are images and whose tokens are patches: everything here is
// read from the operators of its layers, as those of a language model are. Equations:
// models/layers/README.md, "Vision towers".

/// Its layers, as those of a model of their own.
[[nodiscard]] LlmShape tower_shape(const VisionShape& vision);

/// What a tower has beside its layers: the embedding of patches, learned positions, norms at its
/// ends. Rows are patches.
void describe_tower_ends(const VisionShape& vision, bool frozen, EndDescription& ends);
/// One projector to a language model of this width. Rows are tokens.
/// @param inner of an inner layer's result
void describe_projector(const VisionShape& vision, int hidden, bool inner, bool frozen,
                        EndDescription& projector);

struct TowerParameters {
  std::int64_t tower = 0;       ///< layers and ends
  std::int64_t projectors = 0;  ///< all of them

  [[nodiscard]] std::int64_t total() const { return tower + projectors; }
};
/// @param hidden of the language model
[[nodiscard]] TowerParameters tower_parameters(const VisionShape& vision, int hidden);
/// What one rank holds of a job's tower, which is whole on every tensor and context rank of the
/// first stage; 0 where no images are stated.
[[nodiscard]] double rank_tower(const Job& job, Counted counted = Counted::all);

/// FLOPs of an optimizer step in the tower and its projectors: of the model, and of the device,
/// where every tensor and context rank computes all images.
/// @pre job.has_tower()
[[nodiscard]] StepFlops tower_flops(const Job& job, RecomputeKind recompute);

// One micro-batch's images on one rank. @pre job.has_tower()

/// What waits for the backward pass, in bytes; nothing of what is frozen.
[[nodiscard]] double tower_activations(const Job& job);
[[nodiscard]] PieceTimes tower_times(const Job& job);
/// The same as operators, launch excess aside.
[[nodiscard]] Operators tower_operators(const Job& job);

}  // namespace foretrain
