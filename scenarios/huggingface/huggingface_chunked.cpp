// SPDX-License-Identifier: Apache-2.0
// Llama 4: experts of every Nth layer and chunked attention; `configuration_llama4.py` of
// transformers.
#include "scenarios/huggingface/internal/huggingface_reader.hpp"

namespace foretrain::huggingface {
namespace {

/// Layers without rotary positions see everything; all but every Nth have them, in one form.
int full_attention_every(Reader& reader, int layers) {
  const YamlNode* rotary = reader.take({"no_rope_layers"});
  const int interval =
      reader.number("", {"no_rope_layer_interval"}, {1, most_counted, 4, "default of llama4"});
  if (rotary == nullptr || rotary->items.empty()) return interval;
  int every = 0;
  for (int layer = 0; layer < static_cast<int>(rotary->items.size()) && every == 0; ++layer)
    if (rotary->items[static_cast<std::size_t>(layer)].text == "0") every = layer + 1;
  for (int layer = 0; layer < static_cast<int>(rotary->items.size()); ++layer) {
    const bool whole = every > 0 && (layer + 1) % every == 0;
    if (whole == (rotary->items[static_cast<std::size_t>(layer)].text == "0")) continue;
    reader.refuse(*rotary, "no_rope_layers",
                  "chunks are modelled on all layers, or on all but every Nth layer");
    return 0;
  }
  if (static_cast<int>(rotary->items.size()) != layers)
    reader.refuse(*rotary, "no_rope_layers", "does not name each layer");
  return every;
}

}  // namespace

void read_llama4(Reader& reader, LlmShape& shape) {
  reader.take({"layer_types"});
  reader.take({"moe_layers"});
  // Queries and keys are normed without weights.
  reader.take({"use_qk_norm"});
  shape.qk_norm = false;
  shape.window = reader.number("attention.window", {"attention_chunk_size"},
                               {0, 1e8, 8192, "default of llama4"});
  const int every = full_attention_every(reader, shape.layers);
  shape.window_chunked = shape.window > 0;
  if (shape.window > 0) shape.full_attention_every = every;
  if (!shape.moe) return;
  MoeShape& moe = *shape.moe;
  moe.expert_ffn_hidden = moe.shared_ffn_hidden = shape.ffn_hidden;
  shape.ffn_hidden =
      reader.number("mlp.hidden", {"intermediate_size_mlp"},
                    {1, 1e6, 2 * shape.ffn_hidden, "derived: 2 * intermediate_size"});
  moe.every = reader.number("moe.every", {"interleave_moe_layer_step"},
                            {1, most_counted, 1, "default of 1"});
  moe.first_dense_layers = moe.every - 1;
}

}  // namespace foretrain::huggingface
