// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/layer_keys.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "scenarios/sections/model_keys.hpp"

namespace foretrain {
namespace {

using keys::always;
using keys::bind;
using keys::unbound;

Field layer_width(std::string path, std::string help, std::string example) {
  return {.path = std::move(path),
          .help = std::move(help),
          .example = std::move(example),
          .default_text = "0",
          .min = 0,
          .max = largest_width};
}

Field layer_flag(std::string path, std::string help) {
  return {
      .path = std::move(path), .help = std::move(help), .example = "true", .default_text = "false"};
}

template <class V>
KeyRow own_size(Field field, V LayerSizes::*member) {
  return bind(std::move(field), static_cast<V LlmShape::*>(member));
}

KeyRows size_keys() {
  return {
      own_size(layer_width("attention.value_dim",
                           "Width of a value head; left out, that of a query's (MiMo-V2).", "128"),
               &LayerSizes::value_dim),
      own_size(layer_flag("attention.keys_are_values",
                          "One projection makes keys and values (Gemma 4)."),
               &LayerSizes::keys_are_values),
      own_size(layer_width("attention.compressed",
                           "Beside the window, tokens that share one compressed key "
                           "(DeepSeek-V4); left out, none.",
                           "128"),
               &LayerSizes::compressed),
      bind(layer_flag("attention.head_gate",
                      "A sigmoid gate of one value for each head (Step 3.5)."),
           &LlmShape::head_gate),
  };
}

KeyRows compression_keys() {
  const auto in_group = [](const char* path, const char* help, const char* example,
                           int CompressionShape::*member) {
    Field field = layer_width(path, help, example);
    field.default_text.clear();
    field.required = true;
    field.min = 1;
    return bind(std::move(field), &LlmShape::compression, member);
  };
  return {
      unbound({.path = "attention.compression",
               .kind = FieldKind::group,
               .help = "One head that is key and value, queries from a latent vector, an "
                       "output in groups of low rank (DeepSeek-V4)."}),
      in_group("attention.compression.q_lora_rank", "Width of the compressed queries.", "1024",
               &CompressionShape::q_lora_rank),
      in_group("attention.compression.o_groups", "Groups of heads in the output projection.", "8",
               &CompressionShape::o_groups),
      in_group("attention.compression.o_lora_rank", "Width that each group is projected to.",
               "1024", &CompressionShape::o_lora_rank),
  };
}

KeyRows stream_keys() {
  return {
      bind(layer_flag("layer_scale", "A factor of each layer's output (Gemma 4)."),
           &LlmShape::layer_scale),
      bind(layer_width("per_layer_input",
                       "Width of what each layer reads of a second embedding of the token (Gemma "
                       "3n); left out, none.",
                       "256"),
           &LlmShape::per_layer_input),
      bind({.path = "hyper_connections",
            .help = "Copies of the residual stream that halves are mixed from (DeepSeek-V4).",
            .example = "4",
            .default_text = "1",
            .min = 1,
            .max = 64},
           &LlmShape::hyper_connections),
      bind(layer_width("residual_blocks",
                       "Halves attend to what blocks of so many layers gave (Kimi K3); left out, "
                       "to the last layer alone.",
                       "12"),
           &LlmShape::residual_blocks),
      bind(layer_flag("mamba_beside", "A Mamba mixer beside attention in each layer (Falcon-H1)."),
           &LlmShape::mamba_beside),
  };
}

KeyRows convolution_keys() {
  return {
      unbound({.path = "convolution",
               .kind = FieldKind::group,
               .help = "Short convolutions as mixers, letter C (LFM2)."}),
      always({.path = "convolution.kernel", .help = "Taps.", .example = "3", .min = 1, .max = 64},
             &LlmShape::convolution, &ConvolutionShape::kernel),
      bind(layer_flag("convolution.bias", "Biases on it and its projections."),
           &LlmShape::convolution, &ConvolutionShape::bias),
  };
}

/// What a special layer may have of its own: rows of LayerSizes.
KeyRows special_size_keys() {
  const auto size = [](const std::string& name, const char* help, const char* example,
                       int LayerSizes::*member) {
    Field field = layer_width("special_layers[]." + name, help, example);
    field.default_text.clear();
    return bind(std::move(field), member);
  };
  const auto flag = [](const std::string& name, const char* help, bool LayerSizes::*member) {
    return bind({.path = "special_layers[]." + name, .help = help, .example = "true"}, member);
  };
  using S = LayerSizes;
  return {
      size("heads", "Query heads; 0: no attention.", "96", &S::heads),
      size("kv_heads", "Key and value heads.", "8", &S::kv_heads),
      size("head_dim", "Width of one head.", "256", &S::head_dim),
      size("value_dim", "Width of a value head.", "128", &S::value_dim),
      size("window", "Tokens that a token sees; 0: all before it.", "1024", &S::window),
      size("compressed", "Tokens that share one compressed key; 0: none.", "4", &S::compressed),
      size("mlp_hidden", "Inner width of the dense MLP.", "12288", &S::ffn_hidden),
      flag("sinks", "A learned logit per head in the softmax.", &S::attention_sinks),
      flag("shared_keys", "Keys and values of an earlier layer (Gemma 3n).", &S::shared_keys),
      flag("keys_are_values", "One projection makes keys and values.", &S::keys_are_values),
      flag("hash_routed", "Experts chosen by a table of tokens (DeepSeek-V4).", &S::hash_routed),
      bind({.path = "special_layers[].index",
            .help = "Who chooses the tokens that attention sees, where the model has an indexer.",
            .example = "shared"},
           &S::index),
  };
}

const KeyRows& special_sizes() {
  static const KeyRows rows = special_size_keys();
  return rows;
}

KeyRows special_keys() {
  KeyRows keys{
      unbound({.path = "special_pattern",
               .kind = FieldKind::text,
               .help = "Layers that differ, repeated over the layers: a is the first of "
                       "special_layers, b the second, . a layer of the model's own sizes.",
               .example = "\"aaaaa.\""}),
      unbound({.path = "special_layers",
               .kind = FieldKind::list,
               .help = "What layers have that differ; what is left out is the model's."}),
  };
  for (const KeyRow& size : special_sizes()) keys.push_back(unbound(size.field));
  return keys;
}

/// The model's own, as a layer that is like it would say it.
LayerSizes own_sizes(const LlmShape& shape) {
  LayerSizes own = static_cast<const LayerSizes&>(shape);
  if (shape.indexer) own.index = IndexUse::own;
  return own;
}

void check_special(const LlmShape& shape, std::size_t at, const FieldValues& values,
                   Diagnostics& diagnostics) {
  const LayerSizes& sizes = shape.special_layers[at];
  const std::string path = fmt::format("special_layers[{}]", at);
  const auto fault = [&](bool wrong, const char* key, std::string why) {
    const std::string full = path + "." + key;
    if (wrong) diagnostics.add(values.where(full), full, std::move(why));
  };
  if (sizes.heads > 0)
    fault(sizes.kv_heads < 1 || sizes.heads % sizes.kv_heads != 0, "kv_heads",
          fmt::format("{} does not divide the {} query heads", sizes.kv_heads, sizes.heads));
  fault(sizes.heads > 0 && sizes.head_dim < 1, "head_dim", "must be at least 1");
  fault(sizes.ffn_hidden < 1, "mlp_hidden", "must be at least 1");
  fault(sizes.index != IndexUse::none && !shape.indexer, "index",
        "needs attention.indexer, which is missing");
  fault(sizes.compressed > 0 && !shape.compression, "compressed",
        "needs attention.compression, which is missing");
  fault(sizes == own_sizes(shape), "window", "nothing differs from the model's own layers");
  const auto letter = static_cast<char>('a' + at);
  fault(shape.special_pattern.find(letter) == std::string::npos, "window",
        fmt::format("special_pattern has no {}", letter));
}

/// What a set has that the model's own has not, as a flow map's parts.
std::string difference_text(const LayerSizes& sizes, const LayerSizes& own) {
  std::string map;
  for (const KeyRow& row : special_sizes()) {
    const void* const size = row.slot.find(&sizes);
    if (row.slot.ops->same(size, row.slot.find(&own))) continue;
    map += fmt::format("{}{}: {}", map.empty() ? "" : ", ", leaf_name(row.field.path),
                       row.slot.ops->text(size, row.field));
  }
  return map;
}

}  // namespace

KeyRows layer_keys() {
  return joined_rows(
      {size_keys(), compression_keys(), stream_keys(), convolution_keys(), special_keys()});
}

void read_special_layers(const FieldValues& values, LlmShape& shape) {
  if (values.has("special_pattern")) shape.special_pattern = values.text("special_pattern");
  for (int i = 0; i < values.list_size("special_layers"); ++i) {
    LayerSizes sizes = own_sizes(shape);
    const std::string element = fmt::format("special_layers[{}]", i);
    for (const KeyRow& row : special_sizes())
      if (const auto* const value = values.find(child_path(element, leaf_name(row.field.path))))
        row.set(&sizes, *value);
    shape.special_layers.push_back(sizes);
  }
}

void check_layers(const LlmShape& shape, const FieldValues& values, Diagnostics& diagnostics) {
  const auto fault = [&](bool wrong, const char* key, std::string why) {
    if (wrong) diagnostics.add(values.where(key), key, std::move(why));
  };
  const std::size_t named = shape.special_layers.size();
  fault(named > most_special_layers, "special_layers",
        fmt::format("has {} kinds of layers, at most {} are read", named, most_special_layers));
  fault(named > 0 && shape.special_pattern.empty(), "special_layers",
        "has no effect without special_pattern");
  const bool strange =
      std::any_of(shape.special_pattern.begin(), shape.special_pattern.end(), [&](char letter) {
        return letter != '.' && (letter < 'a' || letter >= static_cast<char>('a' + named));
      });
  fault(strange, "special_pattern", "must be of . and a letter for each of special_layers");
  fault(!shape.layer_pattern.empty() && named > 0, "special_layers",
        "and layer_pattern exclude each other");
  fault(shape.window > 0 && named > 0 && shape.full_attention_every > 0, "attention.full_every",
        "and special_layers exclude each other: say windows in special_layers");
  fault(shape.compressed > 0 && !shape.compression, "attention.compressed",
        "needs attention.compression, which is missing");
  fault(shape.compression && shape.mla, "attention.compression",
        "and attention.mla exclude each other");
  fault(shape.mamba_beside && !shape.mamba, "mamba_beside", "the group mamba is missing");
  if (!diagnostics.empty()) return;
  for (std::size_t i = 0; i < named; ++i) check_special(shape, i, values, diagnostics);
}

std::string special_layers_text(const LlmShape& shape) {
  if (shape.special_layers.empty()) return {};
  std::string text =
      fmt::format("special_pattern: \"{}\"\nspecial_layers:\n", shape.special_pattern);
  for (const LayerSizes& sizes : shape.special_layers)
    text += fmt::format("  - {{{}}}\n", difference_text(sizes, own_sizes(shape)));
  return text;
}

}  // namespace foretrain
