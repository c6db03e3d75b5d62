// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/inputs/job.hpp"
#include "models/inputs/llm.hpp"

namespace foretrain {

/// What a layer reads that an earlier one made in the same pass.
struct LayerSource {
  int layer = 0;          ///< that made it
  std::string_view what;  ///< static text
};

/// Whether any layer does.
[[nodiscard]] bool has_sources(const LlmShape& model);

/// Keys and values of the last layer before with the same window and heads that makes its own, or
/// the choice of tokens of the last one that chooses; nothing where a layer makes what it needs.
/// @pre 0 <= layer < model.layers
[[nodiscard]] std::optional<LayerSource> source_of(const LlmShape& model, int layer);

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
