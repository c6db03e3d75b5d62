// SPDX-License-Identifier: Apache-2.0
// Equations: models/serving/README.md, "Memory".
#include "models/serving/serving_memory.hpp"

#include <algorithm>
#include <cmath>

#include "models/layers/layer_ends.hpp"
#include "models/serving/internal/formats.hpp"

namespace foretrain {
namespace serving_detail {

double state_bytes(const LlmShape& model, MixerKind mixer, double tensor) {
  constexpr double state_element = 4.0;
  constexpr double input_element = 2.0;
  if (mixer == MixerKind::convolution)
    return input_element * model.hidden * (model.convolution->kernel - 1.0) / tensor;
  if (mixer == MixerKind::mamba) {
    const MambaShape& shape = *model.mamba;
    const double groups = shape.step_rank > 0 ? 0.0 : 2.0 * shape.groups * shape.state_dim;
    const double channels = shape.inner() + groups;
    return (state_element * shape.inner() * shape.state_dim +
            input_element * channels * (shape.conv_kernel - 1.0)) /
           tensor;
  }
  const DeltaShape& shape = *model.delta;
  const bool convolves = shape.kind != DeltaKind::lightning;
  const double channels = convolves ? 2.0 * shape.keys() + shape.values() : 0.0;
  return (state_element * shape.value_heads * shape.key_head_dim * shape.value_head_dim +
          input_element * channels * (shape.conv_kernel - 1.0)) /
         tensor;
}

WeightFormat operator_format(const LayerOperator& op, const ServingPrecision& bits) {
  if (op.work == LayerWork::expert_product) return bits.experts;
  if (op.work != LayerWork::product) return WeightFormat::bf16;
  if (op.part == LayerPart::mlp) return bits.linear;
  if (op.part == LayerPart::attention) return bits.attention;
  return WeightFormat::bf16;
}

LayerCut serving_cut(const ServingLayout& layout) {
  return {.tensor = static_cast<double>(layout.tensor),
          .expert = static_cast<double>(layout.expert),
          .expert_tensor = static_cast<double>(layout.expert_tensor()),
          .copies_heads = true};
}

int longest_stage(const LlmShape& model, int pipeline) {
  return (model.layers + pipeline - 1) / pipeline;
}

}  // namespace serving_detail

namespace {

using serving_detail::index_key_bytes;
using serving_detail::operator_format;
using serving_detail::serving_cut;

constexpr double half = 2.0;

double operator_bytes(const LayerOperator& op, const ServingPrecision& bits) {
  double bytes = half * (op.vectors + op.buffers);
  if (op.has_weights() && !op.tied) bytes += op.weights() * weight_bytes(operator_format(op, bits));
  return bytes;
}

/// Layers of the longest stage by type: stages take consecutive layers.
std::vector<LayerCounts> stage_counts(const LlmShape& model, int pipeline) {
  const int beyond_windows = model.widest_window() + 1;
  const int each = serving_detail::longest_stage(model, pipeline);
  std::vector<LayerCounts> stages(static_cast<std::size_t>(pipeline), LayerCounts{});
  for (int layer = 0; layer < model.layers; ++layer)
    ++stages[static_cast<std::size_t>(layer / each)]
            [type_index(layer_type(model, layer, beyond_windows))];
  return stages;
}

double layer_weights(const Deployment& deployment, const LayerType& type) {
  LayerDescription layer{false};
  describe_layer(deployment.model, type, serving_cut(deployment.layout), layer);
  double bytes = 0.0;
  for (const LayerOperator& op : layer.operators())
    bytes += operator_bytes(op, deployment.precision);
  return bytes;
}

double end_weights(const Deployment& deployment, bool first, bool last) {
  const EndCut cut{.vocabulary = deployment.model.vocabulary,
                   .tensor = static_cast<double>(deployment.layout.tensor)};
  EndDescription embedding{false};
  EndDescription output{false};
  describe_embedding(deployment.model, cut, embedding);
  describe_output(deployment.model, cut, output);
  double bytes = 0.0;
  const auto add = [&](const EndDescription& end) {
    for (const LayerOperator& op : end.operators()) bytes += operator_bytes(op, {});
  };
  if (first) add(embedding);
  if (last) add(output);
  // Tied tables are held at both ends of a pipeline.
  if (last && !first && deployment.model.tied_embeddings)
    bytes += half * cut.vocabulary / cut.tensor * deployment.model.hidden;
  return bytes;
}

LayerCache layer_cache(const Deployment& deployment, const LayerType& type, int layers) {
  const LlmShape& model = deployment.model;
  LayerCache cache;
  cache.layers = layers;
  const LayerSizes sizes = model.sizes(type);
  if (serving_detail::has_state(type.mixer))
    cache.bytes_per_sequence =
        serving_detail::state_bytes(model, type.mixer, deployment.layout.tensor);
  if (model.mamba_beside && type.mixer == MixerKind::attention)
    cache.bytes_per_sequence =
        serving_detail::state_bytes(model, MixerKind::mamba, deployment.layout.tensor);
  if (type.mixer != MixerKind::attention || sizes.heads == 0 || sizes.shared_keys) return cache;
  double elements = 0.0;
  if (model.mla) {
    elements = model.mla->kv_lora_rank + model.mla->qk_rope_head_dim;  // on every tensor rank
  } else {
    const int ranks = deployment.layout.tensor;
    const int heads = std::max(1, (sizes.kv_heads + ranks - 1) / ranks);
    const int value = sizes.value_dim > 0 ? sizes.value_dim : sizes.head_dim;
    elements = 1.0 * heads * (sizes.head_dim + value);
  }
  cache.bytes_per_token = elements * cache_element_bytes(deployment.precision.cache);
  if (sizes.index == IndexUse::own) cache.bytes_per_token += index_key_bytes(model);
  cache.window = sizes.window;
  return cache;
}

struct StageNeed {
  double weights = 0.0;
  std::vector<LayerCache> layers;
};

StageNeed stage_need(const Deployment& deployment, const LayerCounts& counts, bool first,
                     bool last) {
  StageNeed need;
  need.weights = end_weights(deployment, first, last);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    need.weights += counts[i] * layer_weights(deployment, layer_types[i]);
    const LayerCache cache = layer_cache(deployment, layer_types[i], counts[i]);
    if (cache.bytes_per_token > 0.0 || cache.bytes_per_sequence > 0.0) need.layers.push_back(cache);
  }
  return need;
}

Bytes engine_bytes(const Deployment& deployment) {
  const EngineRules& rules = deployment.engine.rules;
  // Activations of a full step: the residual stream, the widest product and logits of a chunk.
  const LlmShape& model = deployment.model;
  const double width = 8.0 * model.hidden + 4.0 * model.ffn_hidden / deployment.layout.tensor;
  const Bytes activations{half * width * rules.token_budget};
  return rules.runtime + (deployment.cuda_graphs ? rules.graphs : Bytes{}) + activations;
}

/// What weights, cache, graphs and workspace may take together.
Bytes engine_share(const Deployment& deployment) {
  const EngineRules& rules = deployment.engine.rules;
  const Bytes device = deployment.cluster.host.device.usable_memory;
  return rules.share_of_free ? device : rules.memory_share * device;
}

/// What the cache may take beside these weights.
Bytes cache_share(const Deployment& deployment, Bytes weights) {
  const EngineRules& rules = deployment.engine.rules;
  const Bytes free = engine_share(deployment) - engine_bytes(deployment) - weights;
  return rules.share_of_free ? rules.memory_share * free : free;
}

}  // namespace

Bytes CacheSize::sequence(double tokens) const {
  const double blocks = std::ceil(tokens / block_tokens) * block_tokens;
  double bytes = 0.0;
  for (const LayerCache& layer : layers) {
    const double kept =
        layer.window > 0 ? std::min(blocks, static_cast<double>(layer.window)) : blocks;
    bytes += layer.layers * (layer.bytes_per_sequence + kept * layer.bytes_per_token);
  }
  return Bytes{bytes};
}

double CacheSize::bytes_per_token() const {
  double bytes = 0.0;
  for (const LayerCache& layer : layers)
    if (layer.window == 0) bytes += layer.layers * layer.bytes_per_token;
  return bytes;
}

double CacheSize::sequences(double tokens) const {
  const Bytes each = sequence(tokens);
  if (available <= Bytes{}) return 0.0;
  return each > Bytes{} ? std::floor(available / each) : INFINITY;
}

double CacheSize::longest() const {
  if (available <= Bytes{}) return 0.0;
  const double per_token = bytes_per_token();
  if (per_token <= 0.0) return INFINITY;
  double fixed = 0.0;
  for (const LayerCache& layer : layers)
    fixed += layer.layers * (layer.bytes_per_sequence + layer.window * layer.bytes_per_token);
  return std::max(
      0.0, std::floor((available.value() - fixed) / per_token / block_tokens) * block_tokens);
}

CacheSize cache_size(const Deployment& deployment) {
  const int pipeline = deployment.layout.pipeline;
  const std::vector<LayerCounts> stages = stage_counts(deployment.model, pipeline);
  CacheSize least;
  double least_tokens = INFINITY;
  for (int stage = 0; stage < pipeline; ++stage) {
    const StageNeed need = stage_need(deployment, stages[static_cast<std::size_t>(stage)],
                                      stage == 0, stage == pipeline - 1);
    CacheSize size{need.layers, Bytes{need.weights}, cache_share(deployment, Bytes{need.weights}),
                   deployment.engine.rules.block_tokens};
    // The stage where a long sequence takes the largest part of what is free decides.
    constexpr double long_sequence = 8192.0;
    const double tokens = size.available / max(size.sequence(long_sequence), Bytes{1.0});
    if (tokens >= least_tokens) continue;
    least_tokens = tokens;
    least = std::move(size);
  }
  return least;
}

ServingMemory serving_memory(const Deployment& deployment, double sequences, double tokens) {
  const CacheSize cache = cache_size(deployment);
  const EngineRules& rules = deployment.engine.rules;
  ServingMemory memory;
  const Bytes graphs = deployment.cuda_graphs ? rules.graphs : Bytes{};
  memory.rows = {
      {"weights", "weights", cache.weights},
      {"keys, values and states", "cache", sequences * cache.sequence(tokens)},
      {"activations of a step", "activations", engine_bytes(deployment) - rules.runtime - graphs},
      {"CUDA graphs", "buffers", graphs},
      {"context and workspace", "context", rules.runtime}};
  for (const MemoryRow& row : memory.rows) memory.need += row.size;
  memory.usable = engine_share(deployment);
  return memory;
}

}  // namespace foretrain
