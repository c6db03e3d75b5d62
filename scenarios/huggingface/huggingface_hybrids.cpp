// SPDX-License-Identifier: Apache-2.0
// Configurations of hybrid models: nemotron_h (one half a layer), qwen3_next (delta nets between
// layers of attention).
#include <map>

#include <fmt/format.h>

#include "scenarios/huggingface/internal/huggingface_reader.hpp"

namespace foretrain::huggingface {
namespace {

/// A list of names as letters; a name that is not in `letters` is refused at its line.
std::string letters_of(Reader& reader, const YamlNode& list, const std::string& key,
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

void refuse_other_length(Reader& reader, const YamlNode& node, const std::string& key,
                         const std::string& pattern, int layers) {
  if (static_cast<int>(pattern.size()) != layers)
    reader.refuse(node, key, fmt::format("names {} layers of {}", pattern.size(), layers));
}

void read_layer_pattern(Reader& reader, LlmShape& shape) {
  constexpr const char* name = "layer_pattern";
  const YamlNode* from = reader.take(name);
  const std::string key = reader.key_of(name);
  if (from == nullptr) return reader.refuse(key, "is missing: which half each layer is");
  shape.layer_pattern =
      from->is_scalar()
          ? from->text
          : letters_of(reader, *from, key,
                       {{"mamba", 'M'}, {"attention", '*'}, {"mlp", '-'}, {"moe", 'E'}});
  const auto strange = shape.layer_pattern.find_first_not_of("M*-E");
  if (strange != std::string::npos)
    reader.refuse(*from, key, fmt::format("letter {} is not one of M, *, - and E", strange + 1));
  refuse_other_length(reader, *from, key, shape.layer_pattern, shape.layers);
  if (strange != std::string::npos || static_cast<int>(shape.layer_pattern.size()) != shape.layers)
    shape.layer_pattern.assign(static_cast<std::size_t>(shape.layers), '*');
  reader.record(name, shape.layer_pattern, from->mark.origin());
}

/// The shortest pattern that repeats to the same layers.
std::string shortest_period(const std::string& pattern) {
  for (std::size_t size = 1; size < pattern.size(); ++size)
    if (pattern.size() % size == 0 &&
        pattern.substr(size) == pattern.substr(0, pattern.size() - size))
      return pattern.substr(0, size);
  return pattern;
}

/// A list of mixers, or one layer of attention in every so many.
void read_mixers(Reader& reader, LlmShape& shape) {
  constexpr const char* name = "mixer_pattern";
  const YamlNode* types = reader.take(name);
  const std::string key = reader.key_of(name);
  const int every = reader.number("attention.mixer_every", {1, most_counted, false});
  if (types != nullptr) {
    shape.mixer_pattern =
        letters_of(reader, *types, key, {{"linear_attention", 'G'}, {"full_attention", '*'}});
    refuse_other_length(reader, *types, key, shape.mixer_pattern, shape.layers);
    shape.mixer_pattern = shape.mixer_pattern.empty() ? "G" : shortest_period(shape.mixer_pattern);
  } else {
    shape.mixer_pattern = std::string(static_cast<std::size_t>(every) - 1, 'G') + "*";
  }
  reader.record(name, shape.mixer_pattern,
                types != nullptr ? types->mark.origin() : reader.key_of("attention.mixer_every"));
}

}  // namespace

void read_hybrid(Reader& reader, LlmShape& shape) {
  const bool halves = reader.family().layers == LayerForm::halves;
  halves ? read_layer_pattern(reader, shape) : read_mixers(reader, shape);
  reader.fill(halves ? "mamba" : "delta", shape);
  if (!shape.has_mixer(MixerKind::mamba)) shape.mamba.reset();
  if (!shape.has_mixer(MixerKind::delta)) shape.delta.reset();
}

}  // namespace foretrain::huggingface
