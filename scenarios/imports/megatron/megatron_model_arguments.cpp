// SPDX-License-Identifier: Apache-2.0
// The model's shape in Megatron's arguments.
#include <algorithm>
#include <cctype>
#include <string_view>

#include "scenarios/imports/megatron/internal/megatron_mapper.hpp"
#include "scenarios/imports/megatron/megatron_shape.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {

int MegatronMapper::tokenizer_vocabulary() {
  const auto given = in_.integer("vocab-size");
  const std::string type = in_.text("tokenizer-type", "GPT2BPETokenizer");
  std::string model = in_.text("tokenizer-model");
  for (char& c : model) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  auto padded = in_.integer("padded-vocab-size");
  if (const auto older = in_.integer("pad-vocab-size-to")) padded = older;
  if (padded) {
    out_.job.training.vocabulary_multiple = 1;
    return *padded;
  }
  // The null tokenizer adds an end-of-document entry to the size that it is given.
  if (given) return type == "NullTokenizer" ? *given + 1 : *given;
  for (const auto& [part, vocabulary] : megatron_dialect().term("tokenizers")->values)
    if (model.find(part) != std::string::npos)
      return static_cast<int>(parse_integer(vocabulary).value.value_or(0));
  if (type == "GPT2BPETokenizer") return environment_.vocabulary;
  if (type == "Llama2Tokenizer") return 32000;
  in_.error("--tokenizer-type: the vocabulary of " + in_quotes(type) +
            " is not known; give --vocab-size");
  return environment_.vocabulary;
}

void MegatronMapper::map_shape() {
  LlmShape& model = out_.job.model;
  model.layer_pattern = layer_pattern();
  const auto named = static_cast<int>(model.layer_pattern.size());
  model.layers = named > 0 ? in_.integer("num-layers", named) : required("num-layers");
  model.hidden = required("hidden-size");
  model.heads = required("num-attention-heads");
  model.kv_heads =
      in_.flag("group-query-attention") ? in_.integer("num-query-groups", 1) : model.heads;
  in_.accept("num-query-groups");  // without grouping it decides nothing
  model.head_dim = in_.integer("kv-channels", model.hidden / model.heads);
  const bool quick_geglu = in_.flag("quick-geglu");
  in_.accept("glu-linear-offset");
  model.mlp_clamp = in_.number("activation-func-clamp-value", 0.0);
  model.gated_mlp = in_.flag("swiglu") || quick_geglu;
  // With --swiglu the default width keeps the parameter count of a plain 4h MLP.
  const int plain = 4 * model.hidden;
  const int gated = static_cast<int>(4.0 * model.hidden * 2.0 / 3.0) / 64 * 64;
  model.ffn_hidden = in_.integer("ffn-hidden-size", model.gated_mlp ? gated : plain);
  in_.accept("squared-relu");  // keeps the same tensors as GELU
  const bool old_rotary = in_.flag("use-rotary-position-embeddings");
  model.position = old_rotary && !in_.has("position-embedding-type")
                       ? PositionKind::rotary
                       : from_name<PositionKind>(said("position", "position-embedding-type"))
                             .value_or(PositionKind::rotary);
  const int longest = in_.integer("max-position-embeddings", 0);
  model.positions = model.position == PositionKind::learned ? longest : 0;
  const bool rms = in_.text("normalization", "LayerNorm") == "RMSNorm";
  model.norm = rms ? NormKind::rmsnorm : NormKind::layernorm;
  model.norm_bias = !rms;
  in_.accept("apply-layernorm-1p");  // another starting value, the same tensors
  const bool biases = !in_.flag("disable-bias-linear");
  model.qkv_bias = biases || in_.flag("add-qkv-bias");
  model.attention_output_bias = biases;
  model.mlp_bias = biases;
  model.embedding_norm = in_.flag("embed-layernorm");
  model.tied_embeddings = !in_.flag("untie-embeddings-and-output-weights");
  model.mtp_layers = in_.integer("mtp-num-layers", 0);
  model.vocabulary = tokenizer_vocabulary();
  const std::string title = in_.text("model-name", "megatron");
  model.name = title;
}

void MegatronMapper::map_attention_shape() {
  LlmShape& model = out_.job.model;
  const bool without_weights = in_.flag("qk-l2-norm");
  model.qk_norm = in_.flag("qk-layernorm") || without_weights;
  map_window();
  const std::string softmax = in_.text("softmax-type", "vanilla");
  model.attention_sinks = softmax == "learnable";
  if (softmax != "vanilla" && !model.attention_sinks)
    in_.error("--softmax-type: " + in_quotes(softmax) + " is not modelled: learnable sinks are");
  model.rotary_scaled = in_.flag("enable-gpt-oss");
  map_numbers();
  if (!in_.flag("multi-latent-attention")) return;
  MlaShape mla;
  mla.q_lora_rank = in_.text("q-lora-rank") == "None" ? 0 : in_.integer("q-lora-rank", 0);
  mla.kv_lora_rank = in_.integer("kv-lora-rank", 32);
  mla.qk_nope_head_dim = in_.integer("qk-head-dim", 128);
  mla.qk_rope_head_dim = in_.integer("qk-pos-emb-head-dim", 64);
  mla.v_head_dim = in_.integer("v-head-dim", 128);
  model.mla = mla;
  model.qk_norm = false;  // --qk-layernorm: norms of the latents, which every such model has
  model.position = PositionKind::rotary;
  model.positions = 0;
}

/// What decides no forecast, but the model: without an argument it is not known here, as scripts
/// that train on random tokens leave Megatron-LM's defaults.
void MegatronMapper::map_numbers() {
  ModelNumbers& numbers = out_.job.model.numbers;
  const bool latent = in_.flag("multi-latent-attention");
  numbers.norm_epsilon = in_.number("norm-epsilon", 0.0);
  numbers.rope_theta = in_.number("rotary-base", 0.0);
  numbers.rope_share = in_.number("rotary-percent", 1.0);
  const double linear = in_.number("rotary-seq-len-interpolation-factor", 0.0);
  const double llama = in_.number("rope-scaling-factor", 8.0);
  const double yarn = in_.number("rotary-scaling-factor", 0.0);
  const int before = in_.integer("original-max-position-embeddings", 0);
  const std::string kind = in_.text("rope-type", latent ? "yarn" : "rope");
  if (in_.flag("use-rope-scaling")) {
    numbers.rope_scaling = RopeScaling::llama3;
    numbers.rope_factor = llama;
    numbers.rope_positions = llama_positions;
  } else if (out_.job.model.rotary_scaled) {
    numbers.rope_scaling = RopeScaling::yarn;
    numbers.rope_factor = gpt_oss_factor;
    numbers.rope_positions = gpt_oss_positions;
  } else if (linear > 0.0) {
    numbers.rope_scaling = RopeScaling::linear;
    numbers.rope_factor = linear;
  } else if (latent && kind == "yarn" && yarn > 1.0) {
    numbers.rope_scaling = RopeScaling::yarn;
    numbers.rope_factor = yarn;
    numbers.rope_positions = before;
  }
}

namespace {

/// Tokens before and after itself that a token sees: "128,0" or "(128, 0)".
struct WindowSize {
  std::optional<long long> left;
  std::optional<long long> right;

  [[nodiscard]] bool none() const { return left == -1 && right && *right <= 0; }
  [[nodiscard]] bool causal() const {
    return left && right && *left >= 0 && *left < 100'000'000 && *right == 0;
  }
};

WindowSize window_size_in(const std::string& text) {
  std::string bare;
  for (const char c : text)
    if (c != '(' && c != ')' && c != '[' && c != ']' && c != ' ') bare += c;
  const auto comma = bare.find(',');
  return {parse_integer(bare.substr(0, comma)).value,
          parse_integer(comma == std::string::npos ? "" : bare.substr(comma + 1)).value};
}

/// By layer, whether it has the window. A list of `window-attn-skip-freq` marks layers with the
/// window, a number N those without: every Nth.
std::vector<int> windowed_layers(const std::string& skip, int layers) {
  const auto every = parse_integer(skip);
  if (!every.value || *every.value <= 0)
    return skip.empty() || skip == "None" ? std::vector<int>(static_cast<std::size_t>(layers), 1)
                                          : megatron_layer_pattern(skip, layers);
  std::vector<int> pattern(static_cast<std::size_t>(layers), 1);
  for (std::size_t layer = 0; layer < pattern.size(); ++layer)
    pattern[layer] = (static_cast<long long>(layer) + 1) % *every.value == 0 ? 0 : 1;
  return pattern;
}

/// N where every Nth layer alone is without the window, 0 where all have it; nothing where the
/// pattern is another one.
std::optional<int> period_of(const std::vector<int>& windowed) {
  if (windowed.empty()) return std::nullopt;
  const auto whole = std::ranges::find(windowed, 0);
  const int period = whole == windowed.end() ? 0 : static_cast<int>(whole - windowed.begin()) + 1;
  for (int layer = 0; layer < static_cast<int>(windowed.size()); ++layer) {
    const int expected = period == 0 || (layer + 1) % period != 0 ? 1 : 0;
    if (windowed[static_cast<std::size_t>(layer)] != expected) return std::nullopt;
  }
  return period;
}

}  // namespace

void MegatronMapper::map_window() {
  LlmShape& model = out_.job.model;
  const std::string text = in_.text("window-size");
  if (text.empty() || text == "None") return;
  const WindowSize size = window_size_in(text);
  if (size.none()) return;
  if (!size.causal()) {
    in_.error("--window-size: " + in_quotes(text) +
              " is not a window of causal attention, as 128,0 is");
    return;
  }
  const std::string skip = in_.text("window-attn-skip-freq");
  const std::optional<int> period = period_of(windowed_layers(skip, model.layers));
  if (!period) {
    in_.error("--window-attn-skip-freq: " + in_quotes(skip) +
              " does not give the window to all layers or to all but every Nth");
    return;
  }
  if (*period == 1) return;
  model.window = static_cast<int>(*size.left) + 1;
  model.full_attention_every = *period;
}

void MegatronMapper::map_moe() {
  LlmShape& model = out_.job.model;
  const int experts = in_.integer("num-experts", 0);
  const int width = in_.integer("moe-ffn-hidden-size", model.ffn_hidden);
  const int top_k = in_.integer("moe-router-topk", 2);
  const int shared = in_.integer("moe-shared-expert-intermediate-size", 0);
  const bool gate = in_.flag("moe-shared-expert-gate");
  const std::string frequency = in_.text("moe-layer-freq", "1");
  out_.job.training.router_fp32 = in_.text("moe-router-dtype") == "fp32";
  // The older grouped kernels run on one stream, without Transformer Engine's workspaces.
  const bool older_kernels = in_.flag("moe-use-legacy-grouped-gemm");
  out_.job.training.grouped_experts = in_.flag("moe-grouped-gemm") && !older_kernels;
  in_.accept("moe-shared-expert-overlap");
  if (in_.flag("moe-router-force-load-balancing")) out_.job.training.moe_imbalance = 1.0;
  if (in_.has("moe-expert-capacity-factor")) {
    const double capacity = in_.number("moe-expert-capacity-factor", 1.0);
    const bool padded = in_.flag("moe-pad-expert-input-to-capacity");
    if (capacity > 0.0)
      (padded ? out_.job.training.moe_imbalance : out_.job.training.moe_capacity) = capacity;
  }
  if (experts <= 0) return;
  MoeShape moe;
  moe.experts = experts;
  moe.top_k = top_k;
  moe.expert_ffn_hidden = width;
  moe.shared_ffn_hidden = shared;
  moe.shared_gate = gate;
  const std::vector<int> pattern = megatron_layer_pattern(frequency, model.layers);
  if (pattern.empty()) {
    in_.error("--moe-layer-freq: " + in_quotes(frequency) + " does not describe " +
              std::to_string(model.layers) + " layers");
    return;
  }
  const auto first = std::ranges::find(pattern, 1);
  moe.first_dense_layers = static_cast<int>(first - pattern.begin());
  if (first != pattern.end()) {
    const auto second = std::find(first + 1, pattern.end(), 1);
    if (second != pattern.end()) moe.every = static_cast<int>(second - first);
  }
  model.moe = moe;
  if (!model.layer_pattern.empty()) {
    // Megatron-Core reads the letters of the pattern alone.
    model.moe->first_dense_layers = 0;
    model.moe->every = 1;
    return;
  }
  for (int layer = 0; layer < model.layers; ++layer)
    if (model.is_moe_layer(layer) != (pattern[static_cast<std::size_t>(layer)] == 1)) {
      in_.error("--moe-layer-freq: " + in_quotes(frequency) + " is not a regular pattern");
      return;
    }
}

}  // namespace foretrain
