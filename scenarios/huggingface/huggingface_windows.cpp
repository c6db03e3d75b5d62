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
  const auto first = std::ranges::find(full, true);
  const int every = first == full.end() ? 0 : static_cast<int>(first - full.begin()) + 1;
  for (std::size_t layer = 0; layer < full.size(); ++layer)
    if (full[layer] != (every > 0 && (static_cast<int>(layer) + 1) % every == 0))
      return std::nullopt;
  return every;
}

/// Layers that see everything, by number: those before windows begin (Qwen2), and every Nth.
LayerFlags whole_by_number(Reader& reader, const LlmShape& shape) {
  const bool begins = reader.take("attention.windows_from") != nullptr;
  const int from = begins ? reader.number("attention.windows_from", {0, 1e9, false}) : 0;
  const int every = reader.number("attention.full_every", {0, most_counted, false});
  LayerFlags whole;
  for (int layer = 0; layer < shape.layers; ++layer)
    whole.push_back(layer < from || (every > 0 && (layer + 1) % every == 0));
  return whole;
}

/// By a list of layers, which must be legal without windows as well, a pattern of letters, or
/// numbers.
std::optional<LayerFlags> whole_layers(Reader& reader, const LlmShape& shape, bool windowed) {
  std::string name = "attention.layer_list";
  const YamlNode* list = reader.take(name);
  if (list == nullptr || (list->is_sequence() && list->items.empty())) {
    if (!windowed) return std::nullopt;
    name = "attention.full_every";
    list = reader.take(name);
    const bool letters = list != nullptr && list->text.find_first_of("LG") != std::string::npos;
    if (!letters) return whole_by_number(reader, shape);
  }
  return flags_of(reader, name, *list, shape.layers, seen_whole);
}

/// Whether layers with a window have more of their own.
bool has_own_sizes(const Reader& reader) {
  for (const auto& [name, keys] : reader.family().keys)
    if (name.starts_with("windowed.") && reader.says(name)) return true;
  return false;
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
  // Lists may go on with the prediction modules.
  const int named = static_cast<int>(flags.size());
  if (named > layers && named - layers == reader.number("mtp_layers", {0, 100, false}))
    flags.resize(static_cast<std::size_t>(layers));
  if (static_cast<int>(flags.size()) == layers) return flags;
  reader.refuse(list, reader.key_of(name),
                fmt::format("names {} layers of {}", flags.size(), layers));
  return std::nullopt;
}

LayerFlags read_windows(Reader& reader, LlmShape& shape) {
  const YamlNode* written = reader.take("attention.window");
  const int window = reader.number("attention.window", {0, 1e8, false});
  const bool used = reader.truth("attention.windows_used");
  reader.take("attention.windows_from");
  reader.take("attention.full_every");
  const std::optional<LayerFlags> whole = whole_layers(reader, shape, used && window > 0);
  const bool chunked = reader.truth("attention.chunked");
  if (window == 0 || !used || !whole || std::count(whole->begin(), whole->end(), false) == 0)
    return {};
  shape.window_chunked = chunked;
  const std::optional<int> every = full_attention_every(*whole);
  const std::string origin =
      written != nullptr ? written->mark.origin() : "default of " + reader.family().type;
  if (!every || has_own_sizes(reader)) {
    LayerFlags windowed = *whole;
    windowed.flip();
    return windowed;
  }
  shape.window = window;
  shape.full_attention_every = *every;
  reader.record("attention.window", std::to_string(window), origin);
  if (*every == 0) return {};
  const YamlNode* list = reader.take("attention.layer_list");
  if (list == nullptr) list = reader.take("attention.full_every");
  reader.record("attention.full_every", std::to_string(*every),
                list != nullptr ? list->mark.origin() : "default of " + reader.family().type);
  return {};
}

}  // namespace foretrain::huggingface
