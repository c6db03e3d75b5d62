// SPDX-License-Identifier: Apache-2.0

#include "scenarios/sections/hybrid_keys.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <string_view>

#include "models/base/require.hpp"
#include "scenarios/sections/model_keys.hpp"

namespace foretrain {
namespace {

using keys::bind;
using keys::unbound;

Field size_of(std::string path, std::string help, std::string example) {
  return {.path = std::move(path),
          .help = std::move(help),
          .example = std::move(example),
          .required = true,
          .min = 1,
          .max = largest_width};
}

Field size_or(Field field, std::string otherwise) {
  field.required = false;
  field.default_text = std::move(otherwise);
  return field;
}

Field flag_of(std::string path, std::string help, std::string otherwise) {
  return {.path = std::move(path),
          .help = std::move(help),
          .example = "true",
          .default_text = std::move(otherwise)};
}

Field group_of(std::string path, std::string help) {
  return {.path = std::move(path), .kind = FieldKind::group, .help = std::move(help)};
}

KeyRows pattern_keys() {
  return {
      bind({.path = "layer_pattern",
            .help = "A letter for each layer that is one half alone (Nemotron-H): M Mamba-2, G "
                    "gated delta net, * attention, - MLP, E experts. Left out: layers have both "
                    "halves.",
            .example = "\"M-M*-\""},
           &LlmShape::layer_pattern),
      bind({.path = "mixer_pattern",
            .help =
                "The mixers of layers with both halves, repeated over the layers: M, G, C (short "
                "convolution) and *. Left out: attention.",
            .example = "\"GGG*\""},
           &LlmShape::mixer_pattern),
  };
}

KeyRows mamba_keys() {
  const auto in_mamba = [](Field field, auto MambaShape::*member) {
    return bind(std::move(field), &LlmShape::mamba, member);
  };
  return {
      unbound(group_of("mamba", "Mamba-2 mixers.")),
      in_mamba(size_of("mamba.heads", "Heads.", "128"), &MambaShape::heads),
      in_mamba(size_of("mamba.head_dim", "Width of a head.", "64"), &MambaShape::head_dim),
      in_mamba(size_of("mamba.groups", "Groups of heads with inputs and outputs in common.", "8"),
               &MambaShape::groups),
      in_mamba(size_of("mamba.state_dim", "Width of the state.", "128"), &MambaShape::state_dim),
      in_mamba(size_or(size_of("mamba.conv_kernel", "Taps of the causal convolution.", "4"), "4"),
               &MambaShape::conv_kernel),
      in_mamba(
          size_or(size_of("mamba.chunk", "Tokens that the scan multiplies at once.", "128"), "128"),
          &MambaShape::chunk),
      in_mamba(flag_of("mamba.conv_bias", "A bias on the convolution.", "true"),
               &MambaShape::conv_bias),
      in_mamba(flag_of("mamba.projection_bias", "Biases on both projections.", "false"),
               &MambaShape::projection_bias),
      in_mamba(flag_of("mamba.gated_norm", "A norm of the gated output.", "true"),
               &MambaShape::gated_norm),
      in_mamba({.path = "mamba.step_rank",
                .help = "Mamba-1: rank of the step sizes' projection; left out, Mamba-2.",
                .example = "256",
                .default_text = "0",
                .min = 0,
                .max = largest_width},
               &MambaShape::step_rank),
      in_mamba(
          flag_of("mamba.inner_norms",
                  "Mamba-1: norms of steps, inputs and outputs of the state (Jamba).", "false"),
          &MambaShape::inner_norms),
  };
}

KeyRows delta_keys() {
  const auto in_delta = [](Field field, auto DeltaShape::*member) {
    return bind(std::move(field), &LlmShape::delta, member);
  };
  return {
      unbound(group_of("delta", "Mixers with a matrix of keys by values as state.")),
      in_delta({.path = "delta.kind",
                .help = "Which of them: as Qwen3-Next, Kimi Linear or MiniMax-M1 have it.",
                .example = "kimi-delta",
                .default_text = "gated-delta"},
               &DeltaShape::kind),
      in_delta(flag_of("delta.full_rank_gate",
                       "Of kimi-delta: the output gate is one projection (Kimi K3).", "false"),
               &DeltaShape::full_rank_gate),
      in_delta(size_of("delta.key_heads", "Heads of queries and keys.", "16"),
               &DeltaShape::key_heads),
      in_delta(size_of("delta.value_heads", "Heads of values.", "32"), &DeltaShape::value_heads),
      in_delta(size_of("delta.key_head_dim", "Width of a key.", "128"), &DeltaShape::key_head_dim),
      in_delta(size_of("delta.value_head_dim", "Width of a value.", "128"),
               &DeltaShape::value_head_dim),
      in_delta(size_or(size_of("delta.conv_kernel", "Taps of the causal convolution.", "4"), "4"),
               &DeltaShape::conv_kernel),
      in_delta(
          size_or(size_of("delta.chunk", "Tokens that the scan multiplies at once.", "64"), "64"),
          &DeltaShape::chunk),
  };
}

KeyRows attention_keys() {
  const auto in_indexer = [](Field field, auto IndexerShape::*member) {
    return bind(std::move(field), &LlmShape::indexer, member);
  };
  return {
      bind(flag_of("attention.gate", "A sigmoid gate on the attention's output (Qwen3-Next).",
                   "false"),
           &LlmShape::attention_gate),
      bind(flag_of("attention.qk_norm_whole",
                   "RMSNorm on queries and keys of all heads together (OLMo 2).", "false"),
           &LlmShape::qk_norm_whole),
      unbound(group_of("attention.indexer",
                       "Sparse attention: an indexer chooses tokens (DeepSeek-V3.2).")),
      in_indexer(size_of("attention.indexer.heads", "Its heads.", "64"), &IndexerShape::heads),
      in_indexer(size_of("attention.indexer.head_dim", "Width of one of them.", "128"),
                 &IndexerShape::head_dim),
      in_indexer(size_of("attention.indexer.top_k", "Tokens that the attention sees.", "2048"),
                 &IndexerShape::top_k),
      in_indexer(flag_of("attention.indexer.weighted",
                         "Its heads are weighed by a projection; else its queries and keys are "
                         "normed (MiniMax-M3).",
                         "true"),
                 &IndexerShape::weighted),
  };
}

/// Reports what is wrong of one key.
class Faults {
 public:
  Faults(const FieldValues& values, Diagnostics& diagnostics)
      : values_{values}, diagnostics_{diagnostics}, before_{diagnostics.count()} {}

  void add_if(bool wrong, const std::string& key, std::string why) {
    if (wrong) diagnostics_.add(values_.where(key), key, std::move(why));
  }
  [[nodiscard]] bool none() const { return diagnostics_.count() == before_; }

 private:
  const FieldValues& values_;
  Diagnostics& diagnostics_;
  std::size_t before_;
};

void check_letters(const LlmShape& shape, const std::string& key, Faults& faults) {
  const bool halves = key == "layer_pattern";
  const std::string& pattern = halves ? shape.layer_pattern : shape.mixer_pattern;
  const std::string_view legal = halves ? "MG*-E" : "MGC*";
  const auto strange = pattern.find_first_not_of(legal);
  if (strange != std::string::npos)
    faults.add_if(true, key,
                  fmt::format("letter {} is not one of {}", strange + 1,
                              halves ? "M, G, *, - and E" : "M, G, C and *"));
  const auto has = [&](char letter) { return pattern.find(letter) != std::string::npos; };
  faults.add_if(has('M') && !shape.mamba, key,
                "has Mamba-2 layers, but the group mamba is missing");
  faults.add_if(has('G') && !shape.delta, key,
                "has delta net layers, but the group delta is missing");
  faults.add_if(has('C') && !shape.convolution, key,
                "has short convolutions, but the group convolution is missing");
  faults.add_if(has('E') && !shape.moe, key, "has layers of experts, but the group moe is missing");
}

}  // namespace

KeyRows hybrid_keys() {
  return joined_rows({pattern_keys(), attention_keys(), mamba_keys(), delta_keys()});
}

bool check_hybrid(const LlmShape& shape, const FieldValues& values, Diagnostics& diagnostics) {
  Faults faults{values, diagnostics};
  if (!shape.layer_pattern.empty()) check_letters(shape, "layer_pattern", faults);
  if (!shape.mixer_pattern.empty()) check_letters(shape, "mixer_pattern", faults);
  faults.add_if(!shape.layer_pattern.empty() && !shape.mixer_pattern.empty(), "mixer_pattern",
                "and layer_pattern exclude each other");
  const auto named = static_cast<int>(shape.layer_pattern.size());
  faults.add_if(named > 0 && named != shape.layers, "layer_pattern",
                fmt::format("names {} layers of {}", named, shape.layers));
  const bool placed =
      shape.moe && named > 0 && (shape.moe->first_dense_layers > 0 || shape.moe->every > 1);
  faults.add_if(placed, "layer_pattern",
                "says where experts are; leave moe.first_dense_layers and moe.every out");
  faults.add_if(shape.convolution && !shape.has_mixer(MixerKind::convolution), "convolution",
                "has no effect: no pattern names a short convolution");
  const bool mamba = shape.has_mixer(MixerKind::mamba) || shape.mamba_beside;
  faults.add_if(shape.mamba && !mamba, "mamba", "has no effect: no pattern names a Mamba-2 layer");
  faults.add_if(shape.delta && !shape.has_mixer(MixerKind::delta), "delta",
                "has no effect: no pattern names a delta net layer");
  faults.add_if(
      shape.mamba && shape.mamba->groups > 0 && shape.mamba->heads % shape.mamba->groups != 0,
      "mamba.groups", "do not divide the heads");
  faults.add_if(shape.delta && shape.delta->key_heads > 0 &&
                    shape.delta->value_heads % shape.delta->key_heads != 0,
                "delta.key_heads", "do not divide the value heads");
  faults.add_if(shape.qk_norm && shape.qk_norm_whole, "attention.qk_norm_whole",
                "and attention.qk_norm exclude each other");
  return faults.none();
}

namespace {

struct Module {
  std::string_view name;
  bool LayerModules::*member;
};

constexpr auto modules = std::to_array<Module>({
    {"core-attention", &LayerModules::core_attention},
    {"attention-norm", &LayerModules::attention_norm},
    {"mlp-norm", &LayerModules::mlp_norm},
    {"qkv-linear", &LayerModules::qkv_linear},
    {"attention-projection", &LayerModules::attention_projection},
    {"mla-up-projection", &LayerModules::mla_up_projection},
    {"activation", &LayerModules::activation},
    {"expert-fc1", &LayerModules::expert_fc1},
    {"mlp", &LayerModules::mlp},
    {"moe", &LayerModules::moe},
    {"shared-experts", &LayerModules::shared_experts},
});

}  // namespace

std::vector<std::string> layer_module_names() {
  std::vector<std::string> names;
  names.reserve(std::size(modules));
  for (const Module& module : modules) names.emplace_back(module.name);
  return names;
}

std::vector<std::string> layer_module_names(const LayerModules& set) {
  std::vector<std::string> names;
  for (const Module& module : modules)
    if (set.*(module.member)) names.emplace_back(module.name);
  return names;
}

LayerModules layer_modules_of(const std::vector<std::string>& names) {
  LayerModules result;
  for (const std::string& name : names) {
    const auto found = std::find_if(modules.begin(), modules.end(),
                                    [&](const Module& module) { return module.name == name; });
    FORETRAIN_REQUIRE(found != modules.end());
    result.*(found->member) = true;
  }
  return result;
}

}  // namespace foretrain
