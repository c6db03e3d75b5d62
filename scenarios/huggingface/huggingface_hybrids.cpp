// SPDX-License-Identifier: Apache-2.0
// Configurations of hybrid models: layers of one half each (nemotron_h), or of other mixers than
// attention.
#include <cmath>
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

const std::map<std::string, char> mixer_letters{{"linear_attention", 'G'},
                                                {"full_attention", '*'},
                                                {"mamba", 'M'},
                                                {"attention", '*'},
                                                {"conv", 'C'},
                                                {"0", 'G'},
                                                {"1", '*'}};

/// One layer of attention in every so many, the others of the family's mixer.
std::string pattern_by_period(Reader& reader) {
  const int every = reader.number("attention.mixer_every", {1, most_counted, false});
  const int first = reader.number("attention.mixer_first", {0, every - 1.0, false});
  std::string pattern(static_cast<std::size_t>(every),
                      reader.family().defaults.find("mixer_pattern")->second.front());
  pattern[static_cast<std::size_t>(first)] = '*';
  return pattern;
}

/// Attention in the layers of a list of numbers from 1 on.
std::string pattern_by_numbers(Reader& reader, const YamlNode& list, int layers) {
  std::string pattern(static_cast<std::size_t>(layers),
                      reader.family().defaults.find("mixer_pattern")->second.front());
  for (const YamlNode& item : list.items) {
    const double number = parse_number(item.text).value.value_or(0.0);
    if (number < 1.0 || number > layers || number != std::trunc(number))
      reader.refuse(item, reader.key_of("attention.mixer_at"),
                    fmt::format("must be a layer from 1 to {}", layers));
    else
      pattern[static_cast<std::size_t>(number) - 1] = '*';
  }
  return pattern;
}

/// A list of mixers, or where layers of attention are.
void read_mixers(Reader& reader, LlmShape& shape) {
  constexpr const char* name = "mixer_pattern";
  const YamlNode* types = reader.take(name);
  const YamlNode* numbers = reader.take("attention.mixer_at");
  std::string key = reader.key_of(name);
  if (types != nullptr) {
    shape.mixer_pattern = letters_of(reader, *types, key, mixer_letters);
    refuse_other_length(reader, *types, key, shape.mixer_pattern, shape.layers);
    reader.pass_over("attention.mixer_");
  } else if (numbers != nullptr) {
    shape.mixer_pattern = pattern_by_numbers(reader, *numbers, shape.layers);
    key = reader.key_of("attention.mixer_at");
  } else {
    shape.mixer_pattern = pattern_by_period(reader);
    key = reader.key_of("attention.mixer_every");
  }
  shape.mixer_pattern = shape.mixer_pattern.empty() ? "*" : shortest_period(shape.mixer_pattern);
  reader.record(name, shape.mixer_pattern, types != nullptr ? types->mark.origin() : key);
}

}  // namespace

/// The shortest pattern that repeats to the same layers.
std::string shortest_period(const std::string& pattern) {
  for (std::size_t size = 1; size < pattern.size(); ++size)
    if (pattern.size() % size == 0 &&
        pattern.substr(size) == pattern.substr(0, pattern.size() - size))
      return pattern.substr(0, size);
  return pattern;
}

void read_hybrid(Reader& reader, LlmShape& shape) {
  const bool halves = reader.family().layers == LayerForm::halves;
  halves ? read_layer_pattern(reader, shape) : read_mixers(reader, shape);
  const auto fill = [&](MixerKind mixer, const char* group) {
    if (shape.has_mixer(mixer))
      reader.fill(group, shape);
    else
      reader.pass_over(std::string(group) + ".");
  };
  fill(MixerKind::mamba, "mamba");
  fill(MixerKind::delta, "delta");
  fill(MixerKind::convolution, "convolution");
}

}  // namespace foretrain::huggingface
