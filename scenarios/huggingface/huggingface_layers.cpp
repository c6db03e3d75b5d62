// SPDX-License-Identifier: Apache-2.0
// Layers of other sizes than the model's own: with windows, with keys of earlier layers, with
// chosen or compressed keys, or all by a list.

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "scenarios/huggingface/internal/huggingface_reader.hpp"
#include "scenarios/sections/layer_keys.hpp"

namespace foretrain::huggingface {
namespace {

using Sizes = std::vector<LayerSizes>;

void read_windowed(Reader& reader, const LayerFlags& windowed, Sizes& sizes) {
  if (windowed.empty()) return;
  const auto own = [&](std::string_view name, int LayerSizes::*member, LayerSizes& to) {
    if (reader.says(name)) to.*member = reader.number(name, {0, largest_width, false});
  };
  LayerSizes near = sizes.front();
  near.window = reader.number("attention.window", {1, 1e8, false});
  own("windowed.heads", &LayerSizes::heads, near);
  own("windowed.kv_heads", &LayerSizes::kv_heads, near);
  own("windowed.head_dim", &LayerSizes::head_dim, near);
  own("windowed.value_dim", &LayerSizes::value_dim, near);
  if (reader.says("windowed.sinks")) near.attention_sinks = reader.truth("windowed.sinks");
  if (reader.says("windowed.keys_are_values"))
    near.keys_are_values = reader.truth("windowed.keys_are_values");
  for (std::size_t layer = 0; layer < sizes.size(); ++layer)
    if (windowed[layer]) sizes[layer] = near;
}

/// The last layers read keys and values of earlier ones; their MLPs may be twice as wide.
void read_shared(Reader& reader, Sizes& sizes) {
  const auto layers = static_cast<double>(sizes.size());
  const int shared = reader.number("attention.shared_layers", {0, layers, false});
  const bool wide = reader.truth("mlp.wide_where_shared");
  for (auto layer = sizes.end() - shared; layer != sizes.end(); ++layer) {
    layer->shared_keys = true;
    if (wide) layer->ffn_hidden *= 2;
  }
}

void read_indexers(Reader& reader, Sizes& sizes) {
  const auto mark = [&](const char* name, const Words& words, IndexUse otherwise) {
    const YamlNode* list = reader.take(name);
    if (list == nullptr) return;
    const auto own = flags_of(reader, name, *list, static_cast<int>(sizes.size()), words);
    if (!own) return;
    for (std::size_t layer = 0; layer < sizes.size(); ++layer)
      if (!(*own)[layer]) sizes[layer].index = otherwise;
  };
  mark("attention.indexer.own_list", {{"full"}, {"shared"}}, IndexUse::shared);
  mark("attention.indexer.used_list", {{"1"}, {"0"}}, IndexUse::none);
}

/// Tokens of a compressed key by layer; prediction modules may be named behind. Keys of the finest
/// ratio are chosen by an indexer, all others seen.
void read_compressed(Reader& reader, Sizes& sizes) {
  constexpr const char* name = "attention.compressed_list";
  const YamlNode* list = reader.take(name);
  if (list == nullptr) return;
  if (list->items.size() < sizes.size())
    return reader.refuse(*list, reader.key_of(name),
                         fmt::format("names {} layers of {}", list->items.size(), sizes.size()));
  const int hashed = reader.number("moe.hash_layers", {0, most_counted, false});
  constexpr double chosen = 4.0;
  for (std::size_t layer = 0; layer < sizes.size(); ++layer) {
    const YamlNode& item = list->items[layer];
    const double ratio = parse_number(item.text).value.value_or(-1.0);
    if (ratio < 0.0 || ratio > largest_width || ratio != std::trunc(ratio))
      return reader.refuse(item, reader.key_of(name), "must be a whole number from 0");
    sizes[layer].compressed = static_cast<int>(ratio);
    sizes[layer].index = ratio == chosen ? IndexUse::own : IndexUse::none;
    sizes[layer].hash_routed = static_cast<int>(layer) < hashed;
  }
}

/// Of DeciLM's blocks (Nemotron Super and Ultra): query heads to a key head, or no attention; the
/// MLP's width as a multiple of two thirds of the residual stream's, in steps of 256.
void read_blocks(Reader& reader, int hidden, Sizes& sizes) {
  constexpr const char* name = "layers.blocks";
  const YamlNode* list = reader.take(name);
  if (list == nullptr) return;
  const auto refuse = [&](const YamlNode& node, const std::string& why) {
    reader.refuse(node, reader.key_of(name), why);
  };
  if (list->items.size() != sizes.size())
    return refuse(*list, fmt::format("names {} layers of {}", list->items.size(), sizes.size()));
  for (std::size_t layer = 0; layer < sizes.size(); ++layer) {
    const YamlNode& block = list->items[layer];
    const auto number = [&](const char* path) {
      const YamlNode* node = node_of(block, path);
      return node == nullptr ? 0.0 : parse_number(node->text).value.value_or(0.0);
    };
    const auto is_on = [&](const char* path) {
      const YamlNode* node = node_of(block, path);
      return node != nullptr && node->text == "true";
    };
    for (const char* const path : {"attention.replace_with_linear", "ffn.replace_with_linear",
                                   "ffn.no_op", "attention.window_length", "ffn.sparsify"})
      if (is_on(path) || number(path) > 0.0)
        return refuse(block, fmt::format("{} is not modelled", path));
    LayerSizes& own = sizes[layer];
    const double group = number("attention.n_heads_in_group");
    if (is_on("attention.no_op"))
      own.heads = own.kv_heads = 0;
    else if (group >= 1.0)
      own.kv_heads = own.heads / static_cast<int>(group);
    const double width = std::trunc(2.0 * number("ffn.ffn_mult") * hidden / 3.0);
    own.ffn_hidden = static_cast<int>(256.0 * std::ceil(width / 256.0));
    if (own.ffn_hidden < 1) return refuse(block, "says no width of its MLP (ffn.ffn_mult)");
  }
}

/// The set that most layers have, of those that may be a model's own.
LayerSizes most_frequent(const Sizes& sizes, const LlmShape& shape) {
  LayerSizes best = static_cast<const LayerSizes&>(shape);
  std::ptrdiff_t most = 0;
  for (const LayerSizes& each : sizes) {
    if (shape.indexer && each.index != IndexUse::own) continue;
    if (each.shared_keys || each.hash_routed) continue;  // of special layers alone
    const std::ptrdiff_t count = std::ranges::count(sizes, each);
    if (each.heads > 0 && count > most) {
      best = each;
      most = count;
    }
  }
  return best;
}

/// Takes layers of the model's own sizes for what they are, and names all others.
void store(Reader& reader, const Sizes& sizes, LlmShape& shape) {
  const LayerSizes own = most_frequent(sizes, shape);
  std::vector<LayerSizes> special;
  std::string pattern;
  for (const LayerSizes& each : sizes) {
    const auto known = std::ranges::find(special, each);
    pattern += each == own ? '.' : static_cast<char>('a' + (known - special.begin()));
    if (each != own && known == special.end()) special.push_back(each);
  }
  if (special.size() > most_special_layers)
    return reader.refuse(reader.key_of("layers"),
                         fmt::format("has {} kinds of layers, at most {} are modelled",
                                     special.size() + 1, most_special_layers + 1));
  static_cast<LayerSizes&>(shape) = own;
  if (special.empty()) return;
  shape.index = IndexUse::none;  // a model's own is by its indexer
  shape.special_layers = std::move(special);
  shape.special_pattern = shortest_period(pattern);
  reader.record("special_pattern", shape.special_pattern, "derived: kinds of layers");
  reader.record("attention.heads", std::to_string(own.heads), "derived: most layers");
  reader.record("attention.kv_heads", std::to_string(own.kv_heads), "derived: most layers");
  reader.record("mlp.hidden", std::to_string(own.ffn_hidden), "derived: most layers");
}

}  // namespace

void read_special_layers(Reader& reader, const LayerFlags& windowed, LlmShape& shape) {
  Sizes sizes(static_cast<std::size_t>(shape.layers), shape);
  for (LayerSizes& each : sizes)
    if (shape.indexer) each.index = IndexUse::own;
  const Sizes before = sizes;
  read_windowed(reader, windowed, sizes);
  read_shared(reader, sizes);
  read_indexers(reader, sizes);
  read_compressed(reader, sizes);
  read_blocks(reader, shape.hidden, sizes);
  if (sizes != before) store(reader, sizes, shape);
}

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
