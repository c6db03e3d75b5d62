// SPDX-License-Identifier: Apache-2.0
#include "scenarios/huggingface/huggingface.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "scenarios/huggingface/internal/huggingface_families.hpp"
#include "scenarios/huggingface/internal/huggingface_reader.hpp"
#include "scenarios/sections/model_keys.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

using huggingface::Biases;
using huggingface::Experts;
using huggingface::Family;
using huggingface::find_family;
using huggingface::Gate;
using huggingface::Hybrid;
using huggingface::most_counted;
using huggingface::Reader;

void read_width(Reader& reader, LlmShape& shape) {
  shape.layers = reader.number("layers", {"num_hidden_layers", "n_layer", "n_layers", "num_layers"},
                               {1, most_counted});
  shape.hidden =
      reader.number("hidden", {"hidden_size", "n_embd", "n_embed", "d_model"}, {1, largest_width});
  shape.vocabulary = reader.number("embedding.vocabulary", {"vocab_size"}, {1, largest_width});
}

void read_heads(Reader& reader, const Family& family, LlmShape& shape) {
  shape.heads =
      reader.number("attention.heads", {"num_attention_heads", "n_head", "n_heads", "num_heads"},
                    {1, most_counted});
  shape.kv_heads =
      reader.number("attention.kv_heads", {"num_key_value_heads", "num_kv_heads", "n_head_kv"},
                    {1, most_counted, shape.heads, "derived: attention.heads"});
  if (family.latent) {
    // Latent attention has no key and value heads of its own; files repeat the query heads.
    shape.kv_heads = shape.heads;
    return;
  }
  if (shape.heads % shape.kv_heads != 0)
    reader.refuse("num_key_value_heads",
                  fmt::format("{} does not divide {} heads", shape.kv_heads, shape.heads));
  const bool even = shape.hidden % shape.heads == 0;
  const int split = even ? shape.hidden / shape.heads : 1;
  const bool written = reader.take({"head_dim", "attention_head_dim"}) != nullptr;
  if (!written && !even)
    reader.refuse("num_attention_heads",
                  fmt::format("hidden_size {} does not divide by {} heads, and head_dim is missing",
                              shape.hidden, shape.heads));
  shape.head_dim = reader.number("attention.head_dim", {"head_dim", "attention_head_dim"},
                                 {1, largest_width, split, "derived: hidden / attention.heads"});
}

void read_latent(Reader& reader, LlmShape& shape) {
  MlaShape mla;
  mla.q_lora_rank =
      reader.number("attention.mla.q_lora_rank", {"q_lora_rank"}, {1, largest_width, 0});
  mla.kv_lora_rank =
      reader.number("attention.mla.kv_lora_rank", {"kv_lora_rank"}, {1, largest_width});
  mla.qk_nope_head_dim =
      reader.number("attention.mla.qk_nope_head_dim", {"qk_nope_head_dim"}, {1, largest_width});
  mla.qk_rope_head_dim =
      reader.number("attention.mla.qk_rope_head_dim", {"qk_rope_head_dim"}, {1, largest_width});
  mla.v_head_dim = reader.number("attention.mla.v_head_dim", {"v_head_dim"}, {1, largest_width});
  reader.take({"head_dim"});
  shape.head_dim = mla.qk_nope_head_dim + mla.qk_rope_head_dim;
  shape.mla = mla;
}

void read_indexer(Reader& reader, LlmShape& shape) {
  const auto size = [&](const char* path, const char* key) {
    return reader.number(std::string("attention.indexer.") + path, {key}, {1, largest_width});
  };
  shape.indexer = IndexerShape{size("heads", "index_n_heads"), size("head_dim", "index_head_dim"),
                               size("top_k", "index_topk")};
}

void read_mlp(Reader& reader, const Family& family, LlmShape& shape) {
  const bool four = family.type == "gpt2" || family.type == "bloom";
  shape.ffn_hidden =
      reader.number("mlp.hidden", {"intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim"},
                    {1, largest_width, four ? std::optional(4 * shape.hidden) : std::nullopt,
                     "derived: 4 * hidden"});
  shape.gated_mlp = family.gate == Gate::gated;
}

void read_biases(Reader& reader, const Family& family, LlmShape& shape) {
  const std::string rule = fmt::format("model_type {}", family.type);
  const bool all = family.biases == Biases::all;
  if (family.type == "starcoder2") {
    shape.mlp_bias = reader.truth("mlp.bias", {"use_bias"}, true, rule);
    shape.qkv_bias = shape.attention_output_bias = shape.mlp_bias;
    return;
  }
  const bool attention = reader.truth("attention.qkv_bias", {"attention_bias", "qkv_bias"},
                                      all || family.biases == Biases::qkv, rule);
  shape.qkv_bias = attention;
  // Where a file says attention_bias, the output projection has one too (Llama); Qwen2's has not.
  shape.attention_output_bias = attention && family.biases != Biases::qkv;
  shape.mlp_bias = reader.truth("mlp.bias", {"mlp_bias"}, all, rule);
}

void read_positions(Reader& reader, const Family& family, LlmShape& shape) {
  shape.position = family.position;
  if (shape.position == PositionKind::learned)
    shape.positions = reader.number("embedding.positions",
                                    {"n_positions", "max_position_embeddings"}, {1, largest_width});
  shape.tied_embeddings = reader.truth("embedding.tied", {"tie_word_embeddings"}, family.tied,
                                       fmt::format("default of {}", family.type));
}

/// Layers with a window, as one number (LlmShape::full_attention_every); nothing where
/// `layer_types` has none with a window, or another pattern, which is refused.
std::optional<int> full_attention_every(const YamlNode& types, const LlmShape& shape,
                                        Reader& reader) {
  std::vector<bool> full;
  for (const YamlNode& item : types.items) {
    if (item.text != "full_attention" && item.text != "sliding_attention") {
      reader.refuse(item, "layer_types", in_quotes(item.text) + " is not modelled");
      return std::nullopt;
    }
    full.push_back(item.text == "full_attention");
  }
  if (static_cast<int>(full.size()) != shape.layers) {
    reader.refuse(types, "layer_types",
                  fmt::format("names {} layers of {}", full.size(), shape.layers));
    return std::nullopt;
  }
  const auto first = std::find(full.begin(), full.end(), true);
  const auto every = first == full.end() ? 0 : static_cast<int>(first - full.begin()) + 1;
  for (int layer = 0; layer < shape.layers; ++layer) {
    const bool expected = every > 0 && (layer + 1) % every == 0;
    if (expected == full[static_cast<std::size_t>(layer)]) continue;
    reader.refuse(types, "layer_types",
                  "windows are modelled on all layers, or on all but every Nth layer");
    return std::nullopt;
  }
  return every == 1 ? std::nullopt : std::optional(every);
}

/// `max_window_layers` first layers see everything (Qwen2): all or none of them, or refused.
bool windows_on_no_layer(Reader& reader, const LlmShape& shape) {
  const YamlNode* whole = reader.take({"max_window_layers"});
  if (whole == nullptr) return false;
  const Parsed<double> count = parse_number(whole->text);
  if (count.value && *count.value >= shape.layers) return true;
  if (!count.value || *count.value != 0.0)
    reader.refuse(*whole, "max_window_layers",
                  fmt::format("windows on the layers from {} on alone are not modelled",
                              in_quotes(whole->text)));
  return false;
}

void read_windows(Reader& reader, const Family& family, LlmShape& shape) {
  const YamlNode* written = reader.take({"sliding_window"});
  const int window = reader.number("", {"sliding_window"}, {0, largest_width, 0});
  const bool used = reader.truth("", {"use_sliding_window"}, true, "default");
  const YamlNode* types = reader.take({"layer_types"});
  const int pattern =
      reader.number("", {"sliding_window_pattern"}, {0, most_counted, family.full_attention_every});
  const bool nowhere = used && window > 0 && types == nullptr && windows_on_no_layer(reader, shape);
  reader.take({"max_window_layers"});
  if (window == 0 || !used || nowhere) return;
  const std::optional<int> every = types != nullptr ? full_attention_every(*types, shape, reader)
                                   : pattern == 1   ? std::nullopt
                                                    : std::optional(pattern);
  if (!every) return;
  shape.window = window;
  reader.record("attention.window", std::to_string(window), written->mark.origin());
  shape.full_attention_every = *every;
  if (*every > 0)
    reader.record(
        "attention.full_every", std::to_string(*every),
        types != nullptr ? types->mark.origin() : fmt::format("model_type {}", family.type));
}

/// The legal forms of where experts are, as one number; others are refused at their line.
void read_expert_layers(Reader& reader, const Family& family, const LlmShape& shape,
                        MoeShape& moe) {
  if (family.experts == Experts::sparse_step) {
    moe.every =
        reader.number("moe.every", {"decoder_sparse_step"}, {1, most_counted, 1, "default of 1"});
    const YamlNode* dense = reader.take({"mlp_only_layers"});
    if (dense != nullptr && !dense->items.empty())
      reader.refuse(*dense, "mlp_only_layers",
                    "single dense layers among layers with experts are not modelled");
    if (moe.every > 1)
      reader.assume(
          "the first layer of each decoder_sparse_step layers has the experts, not the last");
  }
  if (family.experts == Experts::dense_first) {
    moe.first_dense_layers = reader.number("moe.first_dense_layers", {"first_k_dense_replace"},
                                           {0, shape.layers - 1.0, 0, "default of 0"});
    moe.every =
        reader.number("moe.every", {"moe_layer_freq"}, {1, most_counted, 1, "default of 1"});
  }
}

void read_experts(Reader& reader, const Family& family, LlmShape& shape) {
  if (family.experts == Experts::none) return;
  if (family.experts == Experts::by_pattern && shape.layer_pattern.find('E') == std::string::npos)
    return;
  MoeShape moe;
  moe.experts = reader.number(
      "moe.experts", {"num_local_experts", "num_experts", "n_routed_experts"}, {1, most_counted});
  moe.top_k = reader.number("moe.top_k", {"num_experts_per_tok", "num_experts_per_token"},
                            {1, 1.0 * moe.experts});
  moe.expert_ffn_hidden = reader.number(
      "moe.expert_hidden", {"moe_intermediate_size"},
      {1, largest_width,
       family.experts == Experts::every_layer ? std::optional(shape.ffn_hidden) : std::nullopt,
       "derived: mlp.hidden"});
  moe.shared_ffn_hidden =
      reader.number("moe.shared_hidden",
                    {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"},
                    {0, largest_width, 0});
  const int shared = reader.number("", {"n_shared_experts"}, {0, 100, 0});
  if (shared > 0 && moe.shared_ffn_hidden == 0) {
    moe.shared_ffn_hidden = shared * moe.expert_ffn_hidden;
    reader.record("moe.shared_hidden", std::to_string(moe.shared_ffn_hidden),
                  "derived: n_shared_experts * moe.expert_hidden");
  }
  const bool gates = family.type == "qwen2_moe" || family.type == "qwen3_next";
  moe.shared_gate = gates && moe.shared_ffn_hidden > 0;
  const YamlNode* method = reader.take({"topk_method"});
  moe.router_bias =
      family.router_bias || family.type == "deepseek_v3" || (method && method->text == "noaux_tc");
  read_expert_layers(reader, family, shape, moe);
  shape.moe = moe;
}

const Family* family_of(const YamlNode& map, Diagnostics& diagnostics) {
  const YamlNode* type = map.find("model_type");
  if (type == nullptr || !type->is_scalar()) {
    diagnostics.add(map.mark, "model_type", "is missing; it names the kind of model");
    return nullptr;
  }
  const Family* family = find_family(type->text);
  if (family == nullptr)
    diagnostics.add(type->mark, "model_type",
                    fmt::format("{} is not understood{}. Known: {}", in_quotes(type->text),
                                nearest_hint(type->text, huggingface_model_types()),
                                joined(huggingface_model_types())));
  return family;
}

void read_shape(Reader& reader, const Family& family, LlmShape& shape) {
  read_width(reader, shape);
  read_heads(reader, family, shape);
  if (family.latent) read_latent(reader, shape);
  read_mlp(reader, family, shape);
  read_biases(reader, family, shape);
  read_positions(reader, family, shape);
  if (family.hybrid != Hybrid::none)
    huggingface::read_hybrid(reader, family, shape);
  else if (family.type != "llama4_text")
    read_windows(reader, family, shape);
  read_experts(reader, family, shape);
  if (family.type == "llama4_text") huggingface::read_llama4(reader, shape);
  if (family.sinks_and_clamp) {
    shape.attention_sinks = shape.rotary_scaled = true;
    if (shape.moe) shape.moe->linear_bias = true;
    shape.mlp_clamp =
        reader.number("mlp.clamp", {"swiglu_limit"}, {1, largest_width, 7, "default of gpt_oss"});
    reader.take({"experts_per_token", "initial_context_length"});
  }
  shape.norm = family.norm;
  shape.norm_bias = family.norm_bias;
  if (family.type != "llama4_text")
    shape.qk_norm = family.qk_norm || reader.truth("attention.qk_norm", {"use_qk_norm"}, false, "");
  shape.qk_norm_whole = family.qk_norm_whole;
  if (family.type == "deepseek_v32") read_indexer(reader, shape);
  shape.embedding_norm = family.embedding_norm;
  shape.norms_per_layer = family.norms;
  shape.mtp_layers = reader.number("mtp_layers", {"num_nextn_predict_layers"}, {0, 100, 0});
  huggingface::read_numbers(reader, shape);
}

}  // namespace

std::vector<std::string> huggingface_model_types() {
  std::vector<std::string> types;
  for (const Family& family : huggingface::families()) types.emplace_back(family.type);
  return types;
}

std::optional<HuggingFaceModel> import_huggingface(const YamlNode& root, const std::string& name,
                                                   Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.count();
  if (!root.is_map()) {
    diagnostics.add(root.mark, "", "is not a Hugging Face configuration: not an object");
    return std::nullopt;
  }
  HuggingFaceModel model;
  const YamlNode* text = root.find("text_config");
  const YamlNode& map = text != nullptr && text->is_map() ? *text : root;
  if (&map != &root)
    model.assumed.emplace_back(
        "only text_config is read: encoders of images or sound and their connectors are left out");
  const Family* family = family_of(map, diagnostics);
  if (family == nullptr) return std::nullopt;
  Reader reader{map, model, diagnostics};
  reader.take({"model_type"});
  read_shape(reader, *family, model.shape);
  reader.finish();
  if (diagnostics.count() != before) return std::nullopt;
  model.shape.name = name;
  model.shape.title = name;
  return model;
}

}  // namespace foretrain
