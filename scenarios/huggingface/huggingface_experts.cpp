// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

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

void read_expert_layers(Reader& reader, const LlmShape& shape, MoeShape& moe) {
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
  reader.fill("moe", shape);
  MoeShape& moe = *shape.moe;
  if (moe.top_k > moe.experts)
    reader.refuse(reader.key_of("moe.top_k"),
                  fmt::format("a token cannot use {} of {} experts", moe.top_k, moe.experts));
  read_shared_experts(reader, moe);
  if (!halves) read_expert_layers(reader, shape, moe);
}

}  // namespace foretrain::huggingface
