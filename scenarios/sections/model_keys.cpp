// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/model_keys.hpp"

#include "scenarios/sections/hybrid_keys.hpp"
#include "scenarios/sections/layer_keys.hpp"
#include "scenarios/sections/vision_keys.hpp"

namespace foretrain {
namespace {

using keys::always;
using keys::bind;
using keys::unbound;

constexpr double largest_count = 1e4;  ///< layers, heads, experts

Field model_group(std::string path, std::string help, bool required) {
  return {.path = std::move(path),
          .kind = FieldKind::group,
          .help = std::move(help),
          .required = required};
}

/// A size of the layers that are not special.
template <class V>
KeyRow sized(Field field, V LayerSizes::*member) {
  return bind(std::move(field), static_cast<V LlmShape::*>(member));
}

/// A width or a count of a model.
Field width(std::string path, std::string help, std::string example, bool required = true) {
  return {.path = std::move(path),
          .help = std::move(help),
          .example = std::move(example),
          .required = required,
          .min = 1,
          .max = largest_width};
}

/// A number of layers, heads or experts.
Field number_of(std::string path, std::string help, std::string example, bool required = true) {
  Field field = width(std::move(path), std::move(help), std::move(example), required);
  field.max = largest_count;
  return field;
}

/// A width where leaving it out means none.
Field width_or_none(std::string path, std::string help, std::string example) {
  return {.path = std::move(path),
          .help = std::move(help),
          .example = std::move(example),
          .default_text = "0",
          .min = 0,
          .max = largest_width};
}

Field model_flag(std::string path, std::string help) {
  return {
      .path = std::move(path), .help = std::move(help), .example = "true", .default_text = "false"};
}

bool has_own_kv_heads(const LlmShape& shape) { return !shape.mla && shape.kv_heads != shape.heads; }

bool has_own_head_dim(const LlmShape& shape) {
  return !shape.mla && shape.head_dim * shape.heads != shape.hidden;
}

KeyRow kv_heads_key() {
  KeyRow key = keys::only_where<LlmShape, has_own_kv_heads>(
      sized(number_of("attention.kv_heads",
                      "Key and value heads; left out, as many as query heads.", "8", false),
            &LayerSizes::kv_heads));
  key.written = WhenWritten::always;
  return key;
}

KeyRows body_keys() {
  return {
      always(number_of("layers", "Transformer layers, MTP modules aside.", "80"),
             &LlmShape::layers),
      always(width("hidden", "Width of the residual stream.", "8192"), &LlmShape::hidden),
      unbound(model_group("attention", "The attention of every layer.", true)),
      sized(number_of("attention.heads", "Query heads.", "64"), &LayerSizes::heads),
      kv_heads_key(),
      keys::only_where<LlmShape, has_own_head_dim>(sized(
          width("attention.head_dim", "Width of one head; left out, hidden / heads.", "128", false),
          &LayerSizes::head_dim)),
      bind(model_flag("attention.qkv_bias", "Biases on the query, key and value projections."),
           &LlmShape::qkv_bias),
      bind(model_flag("attention.output_bias", "Bias on the output projection."),
           &LlmShape::attention_output_bias),
      bind(model_flag("attention.qk_norm", "RMSNorm on the queries and keys of each head (Qwen3)."),
           &LlmShape::qk_norm),
      sized(model_flag("attention.sinks", "A learned logit per head in the softmax (GPT-OSS)."),
            &LayerSizes::attention_sinks),
      sized(
          width_or_none("attention.window",
                        "Sliding window: tokens that a token sees, itself included; left out, all "
                        "before it.",
                        "4096"),
          &LayerSizes::window),
      bind({.path = "attention.full_every",
            .help = "With a window: one layer in every so many, the last of each group, sees all "
                    "tokens; left out, none does.",
            .example = "2",
            .default_text = "0",
            .min = 0,
            .max = largest_count},
           &LlmShape::full_attention_every),
      bind(model_flag("attention.chunked",
                      "With a window: the window is the chunk that a token lies in (Llama 4)."),
           &LlmShape::window_chunked),
  };
}

KeyRows latent_keys() {
  return {
      unbound(model_group("attention.mla", "Multi-head latent attention (DeepSeek-V2).", false)),
      bind(width_or_none("attention.mla.q_lora_rank",
                         "Width of the compressed queries; left out, not compressed.", "1536"),
           &LlmShape::mla, &MlaShape::q_lora_rank),
      bind(width("attention.mla.kv_lora_rank", "Width of the compressed keys and values.", "512"),
           &LlmShape::mla, &MlaShape::kv_lora_rank),
      bind(width("attention.mla.qk_nope_head_dim", "Width of a head's part without positions.",
                 "128"),
           &LlmShape::mla, &MlaShape::qk_nope_head_dim),
      bind(width("attention.mla.qk_rope_head_dim", "Width of a head's part with rotary positions.",
                 "64"),
           &LlmShape::mla, &MlaShape::qk_rope_head_dim),
      bind(width("attention.mla.v_head_dim", "Width of a value head.", "128"), &LlmShape::mla,
           &MlaShape::v_head_dim),
  };
}

KeyRows mlp_keys() {
  return {
      unbound(model_group("mlp", "The dense MLP.", true)),
      sized(width("mlp.hidden", "Its inner width.", "28672"), &LayerSizes::ffn_hidden),
      always({.path = "mlp.gated",
              .help = "Gated (SwiGLU, GeGLU): three matrices instead of two.",
              .example = "true",
              .required = true},
             &LlmShape::gated_mlp),
      bind(model_flag("mlp.bias", "Biases on its projections, and on those of experts."),
           &LlmShape::mlp_bias),
      bind({.path = "mlp.clamp",
            .help = "Largest input of the activation function, of experts as well (GPT-OSS); left "
                    "out, any.",
            .example = "7",
            .default_text = "0",
            .min = 0,
            .max = 1e6},
           &LlmShape::mlp_clamp),
  };
}

KeyRows moe_keys() {
  const auto in_moe = [](Field field, auto MoeShape::*member) {
    return bind(std::move(field), &LlmShape::moe, member);
  };
  return {
      unbound(model_group("moe", "Mixture of experts in place of the MLP of some layers.", false)),
      in_moe(number_of("moe.experts", "Routed experts of a layer.", "8"), &MoeShape::experts),
      in_moe(number_of("moe.top_k", "Routed experts that one token uses.", "2"), &MoeShape::top_k),
      in_moe(width("moe.expert_hidden", "Inner width of one routed expert.", "14336"),
             &MoeShape::expert_ffn_hidden),
      in_moe(width_or_none("moe.shared_hidden",
                           "Inner width of all shared experts together; left out, none.", "2048"),
             &MoeShape::shared_ffn_hidden),
      in_moe(model_flag("moe.shared_gate", "A gate on the shared experts (Qwen2-MoE)."),
             &MoeShape::shared_gate),
      in_moe(model_flag("moe.router_bias", "One correction bias per expert (DeepSeek-V3)."),
             &MoeShape::router_bias),
      in_moe(model_flag("moe.linear_bias", "A trained bias on the router's logits (GPT-OSS)."),
             &MoeShape::linear_bias),
      in_moe(width_or_none("moe.latent_hidden",
                           "Routed experts work in a space of this width (Nemotron 3 Super); left "
                           "out, in the residual stream's.",
                           "1024"),
             &MoeShape::latent_hidden),
      in_moe(model_flag("moe.latent_norm", "A norm of what comes out of that space (Kimi K3)."),
             &MoeShape::latent_norm),
      in_moe(width_or_none("moe.identity_experts",
                           "Choices of the router that compute nothing (LongCat).", "256"),
             &MoeShape::identity_experts),
      in_moe(model_flag("moe.router_scales",
                        "Factors of the router's input and of each expert's result (Gemma 4)."),
             &MoeShape::router_scales),
      in_moe(model_flag("moe.dense_beside",
                        "A dense MLP of width mlp.hidden beside the experts (Gemma 4)."),
             &MoeShape::dense_beside),
      in_moe(width_or_none("moe.first_dense_layers", "Leading layers with a dense MLP.", "3"),
             &MoeShape::first_dense_layers),
      in_moe({.path = "moe.every",
              .help = "One layer in every so many, from the first of each group, has experts.",
              .example = "2",
              .default_text = "1",
              .min = 1,
              .max = 10000},
             &MoeShape::every),
      bind({.path = "mtp_layers",
            .help = "Multi-token-prediction modules (DeepSeek-V3).",
            .example = "1",
            .default_text = "0",
            .min = 0,
            .max = 100},
           &LlmShape::mtp_layers),
  };
}

/// What decides no forecast and is carried to files for launches.
KeyRows number_keys() {
  const auto number = [](const char* path, const char* help, const char* example, auto member) {
    return bind({.path = path,
                 .help = std::string(help) + " Decides no forecast; exports carry it.",
                 .example = example,
                 .default_text = "0",
                 .min = 0,
                 .max = 1e12},
                &LlmShape::numbers, member);
  };
  return {
      number("embedding.rope_theta", "Base of the rotary angles; 0: not known.", "500000",
             &ModelNumbers::rope_theta),
      bind({.path = "embedding.rope_share",
            .help = "Share of a head's width with rotary positions. Decides no forecast; exports "
                    "carry it.",
            .example = "0.5",
            .default_text = "1",
            .min = 0,
            .max = 1},
           &LlmShape::numbers, &ModelNumbers::rope_share),
      bind({.path = "embedding.rope_scaling",
            .help = "How the angles are stretched to long sequences. Decides no forecast; exports "
                    "carry it.",
            .example = "llama3",
            .default_text = "none"},
           &LlmShape::numbers, &ModelNumbers::rope_scaling),
      number("embedding.rope_factor", "By how much.", "8", &ModelNumbers::rope_factor),
      number("embedding.rope_positions", "Longest sequence before that.", "8192",
             &ModelNumbers::rope_positions),
      number("norm.epsilon", "Added to a variance before its root; 0: not known.", "0.00001",
             &ModelNumbers::norm_epsilon),
  };
}

KeyRows end_keys() {
  return {
      unbound(model_group("embedding", "Vocabulary, positions and output projection.", true)),
      bind(width("embedding.vocabulary", "Tokens, before any padding.", "128256"),
           &LlmShape::vocabulary),
      always({.path = "embedding.tied",
              .help = "The output projection shares the input embedding.",
              .example = "false",
              .required = true},
             &LlmShape::tied_embeddings),
      always({.path = "embedding.position",
              .help = "How positions are encoded.",
              .example = "rotary",
              .required = true},
             &LlmShape::position),
      bind(model_flag("embedding.rotary_scaled",
                      "Rotary positions whose amplitude is scaled as well (YaRN), which fused "
                      "kernels do not do."),
           &LlmShape::rotary_scaled),
      bind(width_or_none("embedding.positions", "Rows of the table of learned positions.", "2048"),
           &LlmShape::positions),
      bind(model_flag("embedding.norm", "A norm right after the embedding (BLOOM)."),
           &LlmShape::embedding_norm),
      unbound(model_group("norm", "The norms of every layer and the final one.", true)),
      always({.path = "norm.kind", .help = "Kind of norm.", .example = "rmsnorm", .required = true},
             &LlmShape::norm),
      bind(model_flag("norm.bias", "A bias beside the scale (LayerNorm)."), &LlmShape::norm_bias),
      bind({.path = "norm.per_layer",
            .help = "Norms of one layer; 4 when there is one on both sides of each block.",
            .example = "2",
            .default_text = "2",
            .min = 0,
            .max = 8},
           &LlmShape::norms_per_layer),
  };
}

/// A model inside a scenario needs no title and no sources: the scenario speaks for itself.
KeyRows inline_head_keys() {
  return {
      unbound({.path = "name", .help = "What reports call it.", .example = "my-model"}),
      unbound({.path = "title", .help = "The same at length.", .example = "My model, 7 B"}),
  };
}

}  // namespace

KeyRows model_shape_keys() {
  return joined_rows({body_keys(), latent_keys(), mlp_keys(), moe_keys(), hybrid_keys(),
                      layer_keys(), end_keys(), number_keys(), vision_keys()});
}

const BoundTable<LlmShape>& inline_model_table() {
  static const BoundTable<LlmShape> table("Model in a scenario",
                                          joined_rows({inline_head_keys(), model_shape_keys()}));
  return table;
}

const FieldTable& inline_model_fields() { return inline_model_table().fields(); }

}  // namespace foretrain
