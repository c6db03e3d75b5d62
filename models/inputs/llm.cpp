// SPDX-License-Identifier: Apache-2.0
#include "models/inputs/llm.hpp"

#include "models/base/require.hpp"

namespace foretrain {
namespace {

/// Products of layer widths pass 2^31 long before any model does.
constexpr std::int64_t wide(int value) { return static_cast<std::int64_t>(value); }

std::int64_t norm_width(const LlmShape& shape) {
  return wide(shape.hidden) * (shape.norm_bias ? 2 : 1);
}

std::int64_t latent_attention_parameters(const LlmShape& shape) {
  const MlaShape& mla = *shape.mla;
  const std::int64_t query_width =
      wide(shape.heads) * (mla.qk_nope_head_dim + mla.qk_rope_head_dim);
  const std::int64_t query =
      mla.q_lora_rank == 0
          ? wide(shape.hidden) * query_width
          : wide(shape.hidden) * mla.q_lora_rank + mla.q_lora_rank + mla.q_lora_rank * query_width;
  const std::int64_t down =
      wide(shape.hidden) * (mla.kv_lora_rank + mla.qk_rope_head_dim) + mla.kv_lora_rank;
  const std::int64_t up =
      wide(mla.kv_lora_rank) * shape.heads * (mla.qk_nope_head_dim + mla.v_head_dim);
  const std::int64_t output = wide(shape.heads) * mla.v_head_dim * shape.hidden;
  return query + down + up + output;
}

std::int64_t attention_parameters(const LlmShape& shape) {
  if (shape.mla) return latent_attention_parameters(shape);
  const std::int64_t query_width = wide(shape.heads) * shape.head_dim;
  const std::int64_t key_value_width = 2 * wide(shape.kv_heads) * shape.head_dim;
  std::int64_t count = shape.hidden * (2 * query_width + key_value_width);
  if (shape.qkv_bias) count += query_width + key_value_width;
  if (shape.attention_output_bias) count += shape.hidden;
  if (shape.qk_norm) count += 2 * wide(shape.head_dim);
  return count;
}

/// One MLP of the given width, biases as the shape says.
std::int64_t mlp_parameters(const LlmShape& shape, int width) {
  const int inputs = shape.gated_mlp ? 2 : 1;
  std::int64_t count = wide(shape.hidden) * width * (inputs + 1);
  if (shape.mlp_bias) count += wide(width) * inputs + shape.hidden;
  return count;
}

std::int64_t shared_expert_parameters(const LlmShape& shape) {
  const MoeShape& moe = *shape.moe;
  if (moe.shared_ffn_hidden == 0) return 0;
  return mlp_parameters(shape, moe.shared_ffn_hidden) + (moe.shared_gate ? shape.hidden : 0);
}

/// All layers, with `experts` routed experts counted in each MoE layer.
std::int64_t all_layers(const LlmShape& shape, int experts) {
  const int moe_layers = shape.moe_layers();
  std::int64_t count = 0;
  if (moe_layers < shape.layers)
    count += (shape.layers - moe_layers) * layer_parameters(shape, false).total();
  if (moe_layers > 0) {
    const LayerParameters layer = layer_parameters(shape, true);
    const std::int64_t routed = layer.routed_experts / shape.moe->experts * experts;
    count += moe_layers * (layer.total() - layer.routed_experts + routed);
  }
  return count;
}

}  // namespace

bool LlmShape::is_moe_layer(int layer) const {
  FORETRAIN_REQUIRE(layer >= 0 && layer < layers);
  if (!moe || layer < moe->first_dense_layers) return false;
  // As Megatron's moe_layer_freq: the first layer of every group of `every` is the MoE one.
  return (layer - moe->first_dense_layers) % moe->every == 0;
}

int LlmShape::moe_layers() const {
  if (!moe) return 0;
  const int candidates = layers - moe->first_dense_layers;
  return candidates <= 0 ? 0 : (candidates + moe->every - 1) / moe->every;
}

LayerParameters layer_parameters(const LlmShape& shape, bool moe_layer) {
  FORETRAIN_REQUIRE(!moe_layer || shape.moe.has_value());
  LayerParameters count;
  count.attention = attention_parameters(shape);
  count.norms = shape.norms_per_layer * norm_width(shape);
  if (!moe_layer) {
    count.dense_mlp = mlp_parameters(shape, shape.ffn_hidden);
    return count;
  }
  const MoeShape& moe = *shape.moe;
  count.dense_mlp = shared_expert_parameters(shape);
  count.router = wide(shape.hidden) * moe.experts + (moe.router_bias ? moe.experts : 0);
  count.routed_experts = moe.experts * mlp_parameters(shape, moe.expert_ffn_hidden);
  return count;
}

int padded_vocabulary(int vocabulary, int multiple) {
  FORETRAIN_REQUIRE(vocabulary >= 1 && multiple >= 1);
  return (vocabulary + multiple - 1) / multiple * multiple;
}

std::int64_t embedding_parameters(const LlmShape& shape, int vocabulary) {
  std::int64_t count = wide(vocabulary) * shape.hidden;
  if (shape.position == PositionKind::learned) count += wide(shape.positions) * shape.hidden;
  if (shape.embedding_norm) count += norm_width(shape);
  return count;
}

std::int64_t head_parameters(const LlmShape& shape, int vocabulary) {
  return (shape.tied_embeddings ? 0 : wide(vocabulary) * shape.hidden) + norm_width(shape);
}

std::int64_t mtp_parameters(const LlmShape& shape) {
  if (shape.mtp_layers == 0) return 0;
  const bool moe = shape.moe.has_value();
  const std::int64_t module = layer_parameters(shape, moe).total() +
                              2 * wide(shape.hidden) * shape.hidden + 3 * norm_width(shape);
  return shape.mtp_layers * module;
}

std::int64_t parameters(const LlmShape& shape) {
  return embedding_parameters(shape, shape.vocabulary) +
         all_layers(shape, shape.moe ? shape.moe->experts : 0) +
         head_parameters(shape, shape.vocabulary);
}

std::int64_t active_parameters(const LlmShape& shape) {
  return embedding_parameters(shape, shape.vocabulary) +
         all_layers(shape, shape.moe ? shape.moe->top_k : 0) +
         head_parameters(shape, shape.vocabulary);
}

}  // namespace foretrain
