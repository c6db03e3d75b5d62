// SPDX-License-Identifier: Apache-2.0
// Layers of other sizes than the model's own: with windows, with keys of earlier layers, with
// chosen or compressed keys, or all by a list.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

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

}  // namespace foretrain::huggingface
