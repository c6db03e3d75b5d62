// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/model_text.hpp"

#include <fmt/format.h>

#include "scenarios/sections/layer_keys.hpp"
#include "scenarios/sections/vision_keys.hpp"

namespace foretrain {
namespace {

/// Parts of a flow map, without those that are what the catalog assumes anyway.
class FlowMap {
 public:
  FlowMap& number(const char* key, int value, int otherwise = 0) {
    return value == otherwise ? *this : add(key, std::to_string(value));
  }
  FlowMap& amount(const char* key, double value) {
    return value == 0.0 ? *this : add(key, fmt::format("{}", value));
  }
  FlowMap& flag(const char* key, bool value) { return value ? add(key, "true") : *this; }
  FlowMap& add(const char* key, const std::string& value) {
    text_ += fmt::format("{}{}: {}", text_.empty() ? "" : ", ", key, value);
    return *this;
  }
  [[nodiscard]] std::string str() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

std::string indexer_text(const IndexerShape& indexer) {
  FlowMap map;
  map.number("heads", indexer.heads)
      .number("head_dim", indexer.head_dim)
      .number("top_k", indexer.top_k);
  if (!indexer.weighted) map.add("weighted", "false");
  return map.str();
}

std::string attention_text(const LlmShape& shape) {
  FlowMap map;
  map.number("heads", shape.heads);
  if (shape.mla) {
    const MlaShape& mla = *shape.mla;
    map.add("mla", FlowMap{}
                       .number("q_lora_rank", mla.q_lora_rank)
                       .number("kv_lora_rank", mla.kv_lora_rank)
                       .number("qk_nope_head_dim", mla.qk_nope_head_dim)
                       .number("qk_rope_head_dim", mla.qk_rope_head_dim)
                       .number("v_head_dim", mla.v_head_dim)
                       .str());
  } else {
    const bool even = shape.head_dim * shape.heads == shape.hidden;
    map.number("kv_heads", shape.kv_heads, shape.heads);
    if (!even) map.number("head_dim", shape.head_dim);
  }
  if (shape.indexer) map.add("indexer", indexer_text(*shape.indexer));
  if (shape.compression)
    map.add("compression", FlowMap{}
                               .number("q_lora_rank", shape.compression->q_lora_rank)
                               .number("o_groups", shape.compression->o_groups)
                               .number("o_lora_rank", shape.compression->o_lora_rank)
                               .str());
  return map.number("value_dim", shape.value_dim)
      .flag("keys_are_values", shape.keys_are_values)
      .number("compressed", shape.compressed)
      .flag("head_gate", shape.head_gate)
      .number("window", shape.window)
      .number("full_every", shape.full_attention_every)
      .flag("chunked", shape.window_chunked)
      .flag("qkv_bias", shape.qkv_bias)
      .flag("output_bias", shape.attention_output_bias)
      .flag("qk_norm", shape.qk_norm)
      .flag("qk_norm_whole", shape.qk_norm_whole)
      .flag("gate", shape.attention_gate)
      .flag("sinks", shape.attention_sinks)
      .str();
}

std::string moe_text(const MoeShape& moe) {
  return FlowMap{}
      .number("experts", moe.experts)
      .number("top_k", moe.top_k)
      .number("expert_hidden", moe.expert_ffn_hidden)
      .number("shared_hidden", moe.shared_ffn_hidden)
      .flag("shared_gate", moe.shared_gate)
      .flag("router_bias", moe.router_bias)
      .flag("linear_bias", moe.linear_bias)
      .number("latent_hidden", moe.latent_hidden)
      .flag("latent_norm", moe.latent_norm)
      .number("identity_experts", moe.identity_experts)
      .flag("router_scales", moe.router_scales)
      .flag("dense_beside", moe.dense_beside)
      .number("first_dense_layers", moe.first_dense_layers)
      .number("every", moe.every, 1)
      .str();
}

/// Patterns and mixers; empty where all layers have attention.
std::string hybrid_text(const LlmShape& shape) {
  std::string text;
  if (!shape.layer_pattern.empty())
    text += fmt::format("layer_pattern: \"{}\"\n", shape.layer_pattern);
  if (!shape.mixer_pattern.empty())
    text += fmt::format("mixer_pattern: \"{}\"\n", shape.mixer_pattern);
  if (shape.mamba) {
    const MambaShape& mamba = *shape.mamba;
    FlowMap map;
    map.number("heads", mamba.heads)
        .number("head_dim", mamba.head_dim)
        .number("groups", mamba.groups)
        .number("state_dim", mamba.state_dim)
        .number("conv_kernel", mamba.conv_kernel, MambaShape{}.conv_kernel)
        .number("chunk", mamba.chunk, MambaShape{}.chunk)
        .flag("projection_bias", mamba.projection_bias)
        .number("step_rank", mamba.step_rank)
        .flag("inner_norms", mamba.inner_norms);
    if (!mamba.gated_norm) map.add("gated_norm", "false");
    if (!mamba.conv_bias) map.add("conv_bias", "false");
    text += "mamba: " + map.str() + "\n";
  }
  if (shape.delta) {
    const DeltaShape& delta = *shape.delta;
    FlowMap map;
    if (delta.kind != DeltaKind::gated_delta) map.add("kind", std::string(name_of(delta.kind)));
    text += "delta: " +
            map.flag("full_rank_gate", delta.full_rank_gate)
                .number("key_heads", delta.key_heads)
                .number("value_heads", delta.value_heads)
                .number("key_head_dim", delta.key_head_dim)
                .number("value_head_dim", delta.value_head_dim)
                .number("conv_kernel", delta.conv_kernel, DeltaShape{}.conv_kernel)
                .number("chunk", delta.chunk, DeltaShape{}.chunk)
                .str() +
            "\n";
  }
  return text;
}

/// What lies around halves of layers.
std::string stream_text(const LlmShape& shape) {
  std::string text;
  const auto add = [&text](const char* key, int value, int usual) {
    if (value != usual) text += fmt::format("{}: {}\n", key, value);
  };
  const auto flag = [&text](const char* key, bool there) {
    if (there) text += fmt::format("{}: true\n", key);
  };
  if (shape.convolution)
    text += "convolution: " +
            FlowMap{}
                .add("kernel", std::to_string(shape.convolution->kernel))
                .flag("bias", shape.convolution->bias)
                .str() +
            "\n";
  flag("mamba_beside", shape.mamba_beside);
  flag("layer_scale", shape.layer_scale);
  add("per_layer_input", shape.per_layer_input, 0);
  add("hyper_connections", shape.hyper_connections, 1);
  add("residual_blocks", shape.residual_blocks, 0);
  return text;
}

std::string embedding_text(const LlmShape& shape) {
  const ModelNumbers& numbers = shape.numbers;
  FlowMap map;
  map.number("vocabulary", shape.vocabulary)
      .add("tied", shape.tied_embeddings ? "true" : "false")
      .add("position", std::string(name_of(shape.position)))
      .flag("rotary_scaled", shape.rotary_scaled)
      .number("positions", shape.positions)
      .flag("norm", shape.embedding_norm)
      .amount("rope_theta", numbers.rope_theta);
  if (numbers.rope_share != 1.0) map.amount("rope_share", numbers.rope_share);
  if (numbers.rope_scaling != RopeScaling::none)
    map.add("rope_scaling", std::string(name_of(numbers.rope_scaling)));
  return map.amount("rope_factor", numbers.rope_factor)
      .number("rope_positions", numbers.rope_positions)
      .str();
}

/// Both say it, and not the same.
bool differ(double a, double b) { return a != 0.0 && b != 0.0 && a != b; }

}  // namespace

std::string model_shape_text(const LlmShape& shape) {
  std::string text = fmt::format("layers: {}\nhidden: {}\nattention: {}\nmlp: {}\n", shape.layers,
                                 shape.hidden, attention_text(shape),
                                 FlowMap{}
                                     .number("hidden", shape.ffn_hidden)
                                     .add("gated", shape.gated_mlp ? "true" : "false")
                                     .flag("bias", shape.mlp_bias)
                                     .amount("clamp", shape.mlp_clamp)
                                     .str());
  if (shape.moe) text += "moe: " + moe_text(*shape.moe) + "\n";
  text += hybrid_text(shape) + stream_text(shape) + special_layers_text(shape);
  if (shape.mtp_layers > 0) text += fmt::format("mtp_layers: {}\n", shape.mtp_layers);
  if (shape.vision) text += vision_text(*shape.vision);
  return text + fmt::format("embedding: {}\nnorm: {}\n", embedding_text(shape),
                            FlowMap{}
                                .add("kind", std::string(name_of(shape.norm)))
                                .flag("bias", shape.norm_bias)
                                .number("per_layer", shape.norms_per_layer, 2)
                                .amount("epsilon", shape.numbers.norm_epsilon)
                                .str());
}

bool may_be_one_model(const LlmShape& a, const LlmShape& b) {
  LlmShape x = a;
  LlmShape y = b;
  x.numbers = y.numbers = {};
  if (model_shape_text(x) != model_shape_text(y)) return false;
  const ModelNumbers& m = a.numbers;
  const ModelNumbers& n = b.numbers;
  if (differ(m.norm_epsilon, n.norm_epsilon) || differ(m.rope_theta, n.rope_theta)) return false;
  if (m.rope_theta == 0.0 || n.rope_theta == 0.0) return true;
  return m.rope_share == n.rope_share && m.rope_scaling == n.rope_scaling &&
         !differ(m.rope_factor, n.rope_factor) && !differ(m.rope_positions, n.rope_positions);
}

}  // namespace foretrain
