// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "scenarios/huggingface/internal/huggingface_reader.hpp"

namespace foretrain::huggingface {
namespace {

const Words seen_whole{{"full_attention", "G", "0"},
                       {"sliding_attention", "chunked_attention", "L", "1"}};

/// Layers with a window, as one number (LlmShape::full_attention_every): 1 where none has one.
/// Nothing after refusing another pattern.
std::optional<int> full_attention_every(const std::vector<bool>& full) {
  const auto first = std::find(full.begin(), full.end(), true);
  const int every = first == full.end() ? 0 : static_cast<int>(first - full.begin()) + 1;
  for (std::size_t layer = 0; layer < full.size(); ++layer)
    if (full[layer] != (every > 0 && (static_cast<int>(layer) + 1) % every == 0))
      return std::nullopt;
  return every;
}

/// The layer from which on windows begin (Qwen2): all or none of the layers, or refused.
bool windows_on_no_layer(Reader& reader, const LlmShape& shape) {
  const YamlNode* whole = reader.take("attention.windows_from");
  if (whole == nullptr) return false;
  const int from = reader.number("attention.windows_from", {0, 1e9, false});
  if (from > 0 && from < shape.layers)
    reader.refuse(*whole, reader.key_of("attention.windows_from"),
                  fmt::format("windows on the layers from {} on alone are not modelled", from));
  return from >= shape.layers;
}

/// By a list of layers, which must be legal without windows as well, a pattern of letters, or a
/// number.
std::optional<int> pattern_of(Reader& reader, const LlmShape& shape, bool windowed) {
  std::string name = "attention.layer_list";
  const YamlNode* list = reader.take(name);
  if (list == nullptr || (list->is_sequence() && list->items.empty())) {
    if (!windowed || windows_on_no_layer(reader, shape)) return 1;
    name = "attention.full_every";
    list = reader.take(name);
    const bool letters = list != nullptr && list->text.find_first_of("LG") != std::string::npos;
    if (!letters) return reader.number(name, {0, most_counted, false});
  }
  const auto full = flags_of(reader, name, *list, shape.layers, seen_whole);
  if (!full) return std::nullopt;
  const std::optional<int> every = full_attention_every(*full);
  if (!every)
    reader.refuse(*list, reader.key_of(name),
                  "windows are modelled on all layers, or on all but every Nth layer");
  return every;
}

}  // namespace

std::optional<std::vector<bool>> flags_of(Reader& reader, std::string_view name,
                                          const YamlNode& list, int layers, const Words& words) {
  std::vector<YamlNode> items = list.items;
  for (int layer = 0; !list.text.empty() && layer < layers; ++layer) {
    YamlNode letter = list;
    letter.text = list.text.substr(static_cast<std::size_t>(layer) % list.text.size(), 1);
    items.push_back(std::move(letter));
  }
  std::vector<bool> flags;
  for (const YamlNode& item : items) {
    const bool yes = words.yes.count(item.text) > 0;
    if (!yes && words.no.count(item.text) == 0) {
      reader.refuse(item, reader.key_of(name), in_quotes(item.text) + " is not modelled");
      return std::nullopt;
    }
    flags.push_back(yes);
  }
  if (static_cast<int>(flags.size()) == layers) return flags;
  reader.refuse(list, reader.key_of(name),
                fmt::format("names {} layers of {}", flags.size(), layers));
  return std::nullopt;
}

void read_windows(Reader& reader, LlmShape& shape) {
  const YamlNode* written = reader.take("attention.window");
  const int window = reader.number("attention.window", {0, 1e8, false});
  const bool used = reader.truth("attention.windows_used");
  reader.take("attention.windows_from");
  reader.take("attention.full_every");
  const std::optional<int> every = pattern_of(reader, shape, used && window > 0);
  const bool chunked = reader.truth("attention.chunked");
  if (window == 0 || !used || !every || *every == 1) return;
  const std::string origin =
      written != nullptr ? written->mark.origin() : "default of " + reader.family().type;
  shape.window = window;
  shape.window_chunked = chunked;
  shape.full_attention_every = *every;
  reader.record("attention.window", std::to_string(window), origin);
  if (*every == 0) return;
  const YamlNode* list = reader.take("attention.layer_list");
  if (list == nullptr) list = reader.take("attention.full_every");
  reader.record("attention.full_every", std::to_string(*every),
                list != nullptr ? list->mark.origin() : "default of " + reader.family().type);
}

}  // namespace foretrain::huggingface
