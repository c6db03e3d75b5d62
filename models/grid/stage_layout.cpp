// SPDX-License-Identifier: Apache-2.0
#include "models/grid/stage_layout.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>

#include "models/base/require.hpp"
#include "models/schedules/registry.hpp"

namespace foretrain {
namespace {

/// With the window that it has in sequences that no window holds.
LayerSizes sizes_of(const LlmShape& model, int layer) {
  LayerType type = model.layer_form(layer);
  type.windowed = model.is_windowed_layer(layer, std::numeric_limits<int>::max());
  return model.sizes(type);
}

/// Whether a layer's keys and values are those that the other one reads.
bool makes_keys_for(const LayerSizes& maker, const LayerSizes& reader) {
  return !maker.shared_keys && maker.heads > 0 && maker.window == reader.window &&
         maker.kv_heads == reader.kv_heads && maker.head_dim == reader.head_dim;
}

/// The last layer before this one of which `makes` holds.
template <class Makes>
std::optional<int> last_before(const LlmShape& model, int layer, const Makes& makes) {
  for (int before = layer - 1; before >= 0; --before)
    if (makes(sizes_of(model, before))) return before;
  return std::nullopt;
}

/// Layers of every virtual chunk, in model order.
std::vector<int> even_or_counted(int layers, int chunks) {
  std::vector<int> counts(static_cast<std::size_t>(chunks), layers / chunks);
  if (layers % chunks == 0) return counts;
  if (chunks > 1 && (layers + 2) % chunks == 0) {
    counts.assign(counts.size(), (layers + 2) / chunks);
    --counts.front();
    --counts.back();
    return counts;
  }
  if ((layers + 1) % chunks == 0) {
    counts.assign(counts.size(), (layers + 1) / chunks);
    --counts.back();
    return counts;
  }
  const int share = (layers + chunks - 1) / chunks;
  int left = layers;
  for (int& count : counts) {
    count = std::min(share, left);
    left -= count;
  }
  return counts;
}

/// `stage_layers` holds one count per stage, or one per virtual chunk in model order.
std::vector<int> given(const Parallel& parallel) {
  const auto stages = static_cast<std::size_t>(parallel.pipeline);
  const auto chunks = stages * static_cast<std::size_t>(parallel.virtual_stages);
  if (parallel.stage_layers.size() == chunks) return parallel.stage_layers;
  FORETRAIN_REQUIRE(parallel.stage_layers.size() == stages);
  std::vector<int> counts(chunks, 0);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    int left = parallel.stage_layers[stage];
    for (int chunk = 0; chunk < parallel.virtual_stages; ++chunk) {
      const int rest = parallel.virtual_stages - chunk;
      const int count = (left + rest - 1) / rest;  // an uneven rest goes to the first chunks
      counts[static_cast<std::size_t>(chunk) * stages + stage] = count;
      left -= count;
    }
  }
  return counts;
}

/// Whether a pipeline may be cut before this layer: none from it on reads of one before it.
bool may_cut(const LlmShape& model, int layer) {
  for (int later = layer; later < model.layers; ++later)
    if (const auto source = source_of(model, later); source && source->layer < layer) return false;
  return true;
}

/// The same, with every cut at the nearest place where no layer is parted from one that it reads.
std::vector<int> whole_sources(const LlmShape& model, std::vector<int> counts) {
  if (!has_sources(model)) return counts;
  std::vector<int> cuts{0};
  for (int layer = 1; layer < model.layers; ++layer)
    if (may_cut(model, layer)) cuts.push_back(layer);
  int wanted = 0, last = 0;
  for (std::size_t chunk = 0; chunk + 1 < counts.size(); ++chunk) {
    wanted += counts[chunk];
    const int nearest =
        *std::ranges::min_element(cuts, {}, [wanted](int cut) { return std::abs(cut - wanted); });
    const int cut = std::max(last, nearest);
    counts[chunk] = cut - last;
    last = cut;
  }
  counts.back() = model.layers - last;
  return counts;
}

/// Chunks go round the stages, or turn back at the last one (arXiv 2401.10241 section 6).
std::size_t stage_of(std::size_t position, std::size_t stages, bool folded) {
  const std::size_t round = position / stages;
  const std::size_t step = position % stages;
  const bool back = folded && round % 2 == 1;
  return back ? stages - 1 - step : step;
}

}  // namespace

bool has_sources(const LlmShape& model) {
  return std::ranges::any_of(model.special_layers, [](const LayerSizes& sizes) {
    return sizes.shared_keys || sizes.index == IndexUse::shared;
  });
}

std::optional<LayerSource> source_of(const LlmShape& model, int layer) {
  const LayerSizes sizes = sizes_of(model, layer);
  if (sizes.shared_keys)
    if (const auto source = last_before(
            model, layer, [&](const LayerSizes& maker) { return makes_keys_for(maker, sizes); }))
      return LayerSource{*source, "keys and values"};
  if (sizes.index == IndexUse::shared)
    if (const auto source = last_before(
            model, layer, [](const LayerSizes& maker) { return maker.index == IndexUse::own; }))
      return LayerSource{*source, "choice of tokens"};
  return std::nullopt;
}

int StageLayout::layers(int stage) const {
  int sum = 0;
  for (const ChunkLayers& chunk : chunks[static_cast<std::size_t>(stage)]) sum += chunk.layers;
  return sum;
}

FormCounts StageLayout::forms(int stage) const {
  FormCounts sum{};
  for (const ChunkLayers& chunk : chunks[static_cast<std::size_t>(stage)])
    add_forms(chunk.forms, sum);
  return sum;
}

bool StageLayout::uneven() const {
  for (const auto& stage : chunks)
    for (const ChunkLayers& chunk : stage)
      if (chunk.layers != chunks.front().front().layers) return true;
  return false;
}

StageLayout stage_layout(const LlmShape& model, const Parallel& parallel) {
  FORETRAIN_REQUIRE(parallel.pipeline >= 1 && parallel.virtual_stages >= 1);
  const std::vector<int> counts =
      parallel.stage_layers.empty()
          ? whole_sources(
                model, even_or_counted(model.layers, parallel.pipeline * parallel.virtual_stages))
          : given(parallel);
  StageLayout layout;
  layout.chunks.resize(static_cast<std::size_t>(parallel.pipeline));
  int next_layer = 0;
  for (std::size_t position = 0; position < counts.size(); ++position) {
    const std::size_t stage = stage_of(position, layout.chunks.size(), folds(parallel));
    const int layers = counts[position];
    layout.chunks[stage].push_back({next_layer, layers, model.form_counts(next_layer, layers)});
    next_layer += layers;
  }
  return layout;
}

}  // namespace foretrain
