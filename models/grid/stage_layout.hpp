// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/inputs/job.hpp"

namespace foretrain {

/// A run of consecutive layers that one virtual chunk of one stage holds.
struct ChunkLayers {
  int first_layer = 0;
  int layers = 0;      ///< may be 0 where embedding or loss count as a layer
  FormCounts forms{};  ///< which they are
};

/// Which layers every stage holds: chunks[stage][chunk].
struct StageLayout {
  std::vector<std::vector<ChunkLayers>> chunks;

  [[nodiscard]] int stages() const { return static_cast<int>(chunks.size()); }
  [[nodiscard]] int layers(int stage) const;
  [[nodiscard]] FormCounts forms(int stage) const;
  [[nodiscard]] bool uneven() const;
};

/// Layers go to chunks in model order (chunk 0 of all stages, then chunk 1, ...), as Megatron's
/// interleaving does (SC21, arXiv 2104.04473 section 2.2). With `parallel.stage_layers`, as given.
/// Otherwise evenly where pipeline * virtual_stages divides the layers; else the embedding and the
/// loss count as one layer each (126 layers on 16 stages: 7, 8, ..., 8, 7); else the loss alone;
/// else every chunk gets ceil(layers / chunks) until none are left.
/// ZB-V places its second chunk in reverse, so that the first stage holds both ends of the model.
/// @pre pipeline, virtual_stages >= 1; stage_layers, when given, fits (plan_rules checks it).
[[nodiscard]] StageLayout stage_layout(const LlmShape& model, const Parallel& parallel);

}  // namespace foretrain
