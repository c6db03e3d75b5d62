// SPDX-License-Identifier: Apache-2.0
// Configurations of hybrid models: nemotron_h (one half a layer), qwen3_next (delta nets between
// layers of attention).
#include <map>

#include <fmt/format.h>

#include "scenarios/huggingface/internal/huggingface_reader.hpp"
#include "scenarios/sections/model_keys.hpp"

namespace foretrain::huggingface {
namespace {

/// A list of names as letters; a name that is not in `letters` is refused at its line.
std::string letters_of(Reader& reader, const YamlNode& list, const char* key,
                       const std::map<std::string, char>& letters) {
  std::string pattern;
  for (const YamlNode& item : list.items) {
    const auto found = letters.find(item.text);
    if (found == letters.end())
      reader.refuse(item, key, in_quotes(item.text) + " is not modelled");
    else
      pattern += found->second;
  }
  return pattern;
}

void refuse_other_length(Reader& reader, const YamlNode& node, const char* key,
                         const std::string& pattern, int layers) {
  if (static_cast<int>(pattern.size()) != layers)
    reader.refuse(node, key, fmt::format("names {} layers of {}", pattern.size(), layers));
}

void read_layer_pattern(Reader& reader, LlmShape& shape) {
  constexpr const char* key = "hybrid_override_pattern";
  const YamlNode* text = reader.take({key});
  const YamlNode* names = reader.take({"layers_block_type"});
  if (text == nullptr && names == nullptr) {
    reader.refuse(key, "is missing: which half each layer is");
    return;
  }
  const YamlNode& from = text != nullptr ? *text : *names;
  if (text != nullptr)
    shape.layer_pattern = text->text;
  else
    shape.layer_pattern =
        letters_of(reader, *names, "layers_block_type",
                   {{"mamba", 'M'}, {"attention", '*'}, {"mlp", '-'}, {"moe", 'E'}});
  const auto strange = shape.layer_pattern.find_first_not_of("M*-E");
  if (strange != std::string::npos)
    reader.refuse(from, key, fmt::format("letter {} is not one of M, *, - and E", strange + 1));
  refuse_other_length(reader, from, key, shape.layer_pattern, shape.layers);
  if (strange != std::string::npos || static_cast<int>(shape.layer_pattern.size()) != shape.layers)
    shape.layer_pattern.assign(static_cast<std::size_t>(shape.layers), '*');
  reader.record("layer_pattern", shape.layer_pattern, from.mark.origin());
}

MambaShape read_mamba(Reader& reader) {
  const auto size = [&](const char* path, const char* key, std::optional<int> otherwise = {}) {
    return reader.number(std::string("mamba.") + path, {key},
                         {1, largest_width, otherwise, "default of nemotron_h"});
  };
  MambaShape mamba;
  mamba.heads = size("heads", "mamba_num_heads");
  mamba.head_dim = size("head_dim", "mamba_head_dim");
  mamba.groups = size("groups", "n_groups");
  mamba.state_dim = size("state_dim", "ssm_state_size");
  mamba.conv_kernel = size("conv_kernel", "conv_kernel", 4);
  mamba.chunk = size("chunk", "chunk_size", 128);
  mamba.conv_bias = reader.truth("mamba.conv_bias", {"use_conv_bias"}, true, "default");
  mamba.projection_bias =
      reader.truth("mamba.projection_bias", {"mamba_proj_bias", "use_bias"}, false, "");
  return mamba;
}

void read_nemotron(Reader& reader, LlmShape& shape) {
  read_layer_pattern(reader, shape);
  const MambaShape mamba = read_mamba(reader);
  if (shape.has_mixer(MixerKind::mamba)) shape.mamba = mamba;
  reader.take({"sliding_window"});
  for (const char* const key : {"moe_latent_size", "mtp_layers_block_type"})
    if (const YamlNode* node = reader.take({key}))
      reader.refuse(*node, key,
                    "is not modelled: experts in a latent space, and prediction "
                    "modules of single halves");
}

/// `layer_types`, or one layer of attention in every `full_attention_interval`.
void read_mixers(Reader& reader, LlmShape& shape) {
  const YamlNode* types = reader.take({"layer_types"});
  const int every = reader.number("", {"full_attention_interval"}, {1, most_counted, 4});
  if (types != nullptr) {
    shape.mixer_pattern = letters_of(reader, *types, "layer_types",
                                     {{"linear_attention", 'G'}, {"full_attention", '*'}});
    refuse_other_length(reader, *types, "layer_types", shape.mixer_pattern, shape.layers);
    if (shape.mixer_pattern.empty()) shape.mixer_pattern = "G";
  } else {
    shape.mixer_pattern = std::string(static_cast<std::size_t>(every) - 1, 'G') + "*";
  }
  reader.record("mixer_pattern", shape.mixer_pattern,
                types != nullptr ? types->mark.origin() : "full_attention_interval");
}

void read_delta(Reader& reader, LlmShape& shape) {
  const auto size = [&](const char* path, const char* key, std::optional<int> otherwise = {}) {
    return reader.number(std::string("delta.") + path, {key},
                         {1, largest_width, otherwise, "default of qwen3_next"});
  };
  DeltaShape delta;
  delta.key_heads = size("key_heads", "linear_num_key_heads");
  delta.value_heads = size("value_heads", "linear_num_value_heads");
  delta.key_head_dim = size("key_head_dim", "linear_key_head_dim");
  delta.value_head_dim = size("value_head_dim", "linear_value_head_dim");
  delta.conv_kernel = size("conv_kernel", "linear_conv_kernel_dim", 4);
  if (shape.has_mixer(MixerKind::delta)) shape.delta = delta;
}

}  // namespace

void read_hybrid(Reader& reader, const Family& family, LlmShape& shape) {
  if (family.hybrid == Hybrid::layer_pattern) return read_nemotron(reader, shape);
  read_mixers(reader, shape);
  read_delta(reader, shape);
  shape.attention_gate = true;
  reader.record("attention.gate", "true", fmt::format("model_type {}", family.type));
}

}  // namespace foretrain::huggingface
