// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

#include "scenarios/huggingface/internal/huggingface_reader.hpp"

namespace foretrain::huggingface {
namespace {

const Words with_experts{{"sparse", "moe", "1"}, {"dense", "mlp", "0"}};

/// A list by layer as the two numbers that say where experts are, or refused.
void read_expert_list(Reader& reader, const YamlNode& list, int layers, MoeShape& moe) {
  constexpr const char* name = "moe.layer_list";
  const auto flags = flags_of(reader, name, list, layers, with_experts);
  if (!flags) return;
  const auto first = std::find(flags->begin(), flags->end(), true);
  const auto second = first == flags->end() ? first : std::find(first + 1, flags->end(), true);
  moe.first_dense_layers = static_cast<int>(first - flags->begin());
  moe.every = second == flags->end() ? std::max(1, layers - moe.first_dense_layers)
                                     : static_cast<int>(second - first);
  for (int layer = 0; layer < layers; ++layer) {
    const int after = layer - moe.first_dense_layers;
    if ((*flags)[static_cast<std::size_t>(layer)] == (after >= 0 && after % moe.every == 0))
      continue;
    return reader.refuse(list, reader.key_of(name),
                         "experts are modelled in one layer of every so many, after dense ones");
  }
  reader.record("moe.first_dense_layers", std::to_string(moe.first_dense_layers),
                list.mark.origin());
  reader.record("moe.every", std::to_string(moe.every), list.mark.origin());
}

/// "3,4,5": the layers that have experts, from 0 on.
bool read_expert_numbers(Reader& reader, int layers, MoeShape& moe) {
  constexpr const char* name = "moe.layer_numbers";
  const YamlNode* text = reader.take(name);
  if (text == nullptr) return false;
  YamlNode list = *text;
  list.text.clear();
  list.items.assign(static_cast<std::size_t>(layers), *text);
  for (YamlNode& item : list.items) item.text = "0";
  std::istringstream words(text->text);
  for (std::string word; std::getline(words, word, ',');) {
    const double layer = parse_number(word).value.value_or(-1.0);
    if (layer < 0.0 || layer >= layers || layer != std::trunc(layer)) {
      reader.refuse(*text, reader.key_of(name),
                    fmt::format("{} is no layer from 0 to {}", in_quotes(word), layers - 1));
      return true;
    }
    list.items[static_cast<std::size_t>(layer)].text = "1";
  }
  read_expert_list(reader, list, layers, moe);
  return true;
}

void read_expert_layers(Reader& reader, const LlmShape& shape, MoeShape& moe) {
  if (read_expert_numbers(reader, shape.layers, moe))
    return reader.pass_over("moe.first_dense_layers");
  const YamlNode* list = reader.take("moe.layer_list");
  if (list != nullptr && list->is_sequence()) {
    reader.take("moe.first_dense_layers");
    reader.take("moe.every");
    return read_expert_list(reader, *list, shape.layers, moe);
  }
  moe.first_dense_layers = reader.number("moe.first_dense_layers", {0, shape.layers - 1.0});
  moe.every = reader.number("moe.every", {1, most_counted});
  const int last = reader.number("moe.last_layer", {-1, most_counted, false});
  if (const YamlNode* node = reader.take("moe.last_layer"))
    if (last != -1 && last != shape.layers - 1)
      reader.refuse(*node, reader.key_of("moe.last_layer"),
                    fmt::format("dense layers after {} are not modelled", last));
}

void read_shared_experts(Reader& reader, MoeShape& moe) {
  const int shared = reader.number("moe.shared_experts", {0, 100, false});
  if (shared > 0 && moe.shared_ffn_hidden == 0) {
    moe.shared_ffn_hidden = shared * moe.expert_ffn_hidden;
    reader.record(
        "moe.shared_hidden", std::to_string(moe.shared_ffn_hidden),
        fmt::format("derived: {} * moe.expert_hidden", reader.key_of("moe.shared_experts")));
  }
  moe.shared_gate &= moe.shared_ffn_hidden > 0;
}

}  // namespace

void read_experts(Reader& reader, LlmShape& shape) {
  const bool halves = reader.family().layers == LayerForm::halves;
  if (!reader.family().experts || (halves && shape.layer_pattern.find('E') == std::string::npos))
    return;
  const YamlNode* number = reader.take("moe.experts");
  if (!reader.truth("moe.used") || (number != nullptr && number->text == "0"))
    return reader.pass_over("moe.");
  reader.fill("moe", shape);
  MoeShape& moe = *shape.moe;
  if (moe.top_k > moe.experts)
    reader.refuse(reader.key_of("moe.top_k"),
                  fmt::format("a token cannot use {} of {} experts", moe.top_k, moe.experts));
  read_shared_experts(reader, moe);
  if (!halves) read_expert_layers(reader, shape, moe);
}

}  // namespace foretrain::huggingface
