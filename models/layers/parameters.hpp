// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "models/inputs/llm.hpp"
#include "models/layers/layer_description.hpp"

namespace foretrain {

/// Parameters by component. One layer's counts; embeddings and head on their own.
/// Sources of every line: models/layers/README.md, "Parameters".
struct LayerParameters {
  std::int64_t attention = 0;  ///< projections with biases, q/k norms, latent projections
  std::int64_t dense_mlp = 0;  ///< dense MLP or shared experts with their gate
  std::int64_t router = 0;
  std::int64_t routed_experts = 0;  ///< all experts of the layer
  std::int64_t norms = 0;

  [[nodiscard]] std::int64_t total() const {
    return attention + dense_mlp + router + routed_experts + norms;
  }
};

/// What a layer's operators hold. @pre the model has experts where `kind` says so.
[[nodiscard]] LayerParameters layer_parameters(const LlmShape& shape, const LayerType& type);
/// Of a layer with attention.
[[nodiscard]] LayerParameters layer_parameters(const LlmShape& shape, LayerKind kind);

/// Input embedding, learned positions and embedding norm.
[[nodiscard]] std::int64_t embedding_parameters(const LlmShape& shape, int vocabulary);
/// Output projection (0 when tied) and final norm.
[[nodiscard]] std::int64_t head_parameters(const LlmShape& shape, int vocabulary);
/// Extra parameters of all multi-token-prediction modules: one transformer layer, a 2h x h
/// projection and three norms each; embedding and head are shared with the main model
/// (DeepSeek-V3, arXiv 2412.19437 section 2.2).
[[nodiscard]] std::int64_t mtp_parameters(const LlmShape& shape);

/// All parameters with the published vocabulary, without multi-token prediction (as model cards
/// count).
[[nodiscard]] std::int64_t parameters(const LlmShape& shape);
/// Parameters that one token uses: top_k of the routed experts, everything else.
[[nodiscard]] std::int64_t active_parameters(const LlmShape& shape);

}  // namespace foretrain
