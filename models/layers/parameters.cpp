// SPDX-License-Identifier: Apache-2.0

#include "models/layers/parameters.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "models/base/require.hpp"
#include "models/layers/layer_ends.hpp"
#include "models/layers/vision_tower.hpp"
#include "models/schedules/registry.hpp"

namespace foretrain {

RankLayer rank_layer(std::span<const LayerOperator> operators, Counted counted) {
  RankLayer layer;
  double small = 0.0;  // routers and gates, which stay in the wide format
  for (const LayerOperator& op : operators) {
    if (op.frozen && counted == Counted::trained) continue;
    (op.part == LayerPart::experts ? layer.experts : layer.vectors) += op.vectors;
    if (!op.is_product() || op.tied) continue;
    if (op.part == LayerPart::experts)
      layer.experts += op.weights();
    else
      (op.work == LayerWork::product ? layer.dense_matrices : small) += op.weights();
  }
  layer.dense = layer.dense_matrices + layer.vectors + small;
  return layer;
}

namespace {

void add_mtp(const Job& job, const RankLayers& layers, RankParameters& rank) {
  const int modules = job.model.mtp_layers;
  if (modules == 0) return;
  const RankLayer& layer = layers.of({prediction_layer(job.model)});
  const RankLayer& module = layers.ends.prediction;
  rank.forms[form_index({prediction_layer(job.model)})] += modules;
  rank.layers += modules * (layer.dense + module.dense);
  rank.layer_matrices += modules * (layer.dense_matrices + module.dense_matrices);
  rank.vectors += modules * (layer.vectors + module.vectors);
  rank.experts += modules * layer.experts;
}

}  // namespace

RankLayer rank_layer(const Job& job, const LayerType& type, Counted counted) {
  LayerDescription layer{job, false};
  describe_layer(job.model, type, layer_cut(job.parallel), layer);
  return rank_layer(layer.operators(), counted);
}

RankEnds rank_ends(const Job& job, Counted counted) {
  return rank_ends(ModelEnds{job, false}, counted);
}

RankEnds rank_ends(const ModelEnds& described, Counted counted) {
  RankEnds ends;
  const auto read = [counted](const EndDescription& end, double& weights, double& vectors) {
    for (const LayerOperator& op : end.operators()) {
      if (op.frozen && counted == Counted::trained) continue;
      if (op.has_weights()) weights += op.weights();
      vectors += op.vectors;
    }
  };
  read(described.embedding, ends.table, ends.beside_table);
  read(described.output, ends.projection, ends.final_norm);
  ends.prediction = rank_layer(described.prediction.operators(), counted);
  return ends;
}

FormCounts held_forms(const LlmShape& model) {
  FormCounts forms = model.form_counts(0, model.layers);
  if (model.mtp_layers > 0) forms[form_index({prediction_layer(model)})] += model.mtp_layers;
  return forms;
}

RankLayers rank_layers(const Job& job, Counted counted) {
  RankLayers layers;
  const FormCounts held = held_forms(job.model);
  for (std::size_t form = 0; form < layer_forms; ++form)
    if (held[form] > 0) layers.forms[form] = rank_layer(job, layer_types[form], counted);
  layers.ends = rank_ends(job, counted);
  layers.ends.tower = rank_tower(job, counted);
  if (counted == Counted::trained) layers.skipped = job.fine_tuning.frozen_layers;
  return layers;
}

HeldLayers held_layers(const Job& job) {
  HeldLayers held{rank_layers(job), {}};
  held.trained = job.fine_tuning.freezes() ? rank_layers(job, Counted::trained) : held.all;
  return held;
}

StageEnds stage_ends(const Job& job, int stage) {
  const int last = job.parallel.pipeline - 1;
  const bool folded = folds(job.parallel);  // both ends on device 0
  const bool both = holds_mirror(job.parallel);
  StageEnds ends;
  ends.embedding = stage == 0 || (both && stage == last);
  ends.output = folded ? stage == 0 : (stage == last || (both && stage == 0));
  const bool apart = predicts_apart(job);
  ends.prediction =
      job.model.mtp_layers > 0 && (apart ? stage == *job.parallel.prediction_stage : ends.output);
  return ends;
}

RankParameters rank_parameters(const Job& job, const StageLayout& layout, int stage,
                               Counted counted) {
  return rank_parameters(job, rank_layers(job, counted), layout, stage);
}

RankParameters rank_parameters(const Job& job, const RankLayers& held, const StageLayout& layout,
                               int stage) {
  const LlmShape& model = job.model;
  const bool both = holds_mirror(job.parallel);
  const int mirror = job.parallel.pipeline - 1 - stage;
  FormCounts layers = layout.forms(stage);
  if (both) add_forms(layout.forms(mirror), layers);
  if (held.skipped > 0) {
    const FormCounts none = model.form_counts(0, held.skipped);  // without a pipeline, of all
    for (std::size_t form = 0; form < layer_forms; ++form) layers[form] -= none[form];
  }
  RankParameters rank;
  const auto add = [&](const RankLayer& layer, int times) {
    rank.layers += times * layer.dense;
    rank.layer_matrices += times * layer.dense_matrices;
    rank.vectors += times * layer.vectors;
    rank.experts += times * layer.experts;
  };
  rank.forms = layers;
  for (std::size_t form = 0; form < layer_forms; ++form)
    if (layers[form] > 0) add(held.forms[form], layers[form]);

  const StageEnds ends = stage_ends(job, stage);
  const bool split = splits_vocabulary(job.parallel);
  const double stages = split ? job.parallel.pipeline : 1.0;
  const double table = held.ends.table / stages;
  const double projection = held.ends.projection / stages;
  const bool own_copy = ends.prediction && !ends.embedding;
  if (ends.embedding || own_copy || split) rank.embedding += table;
  if (split && !ends.output && !model.tied_embeddings) rank.output += projection;
  if (ends.embedding) {
    rank.embedding += held.ends.beside_table + held.ends.tower;
    rank.tower = held.ends.tower;
  }
  if (ends.output) {
    const bool shared_here = model.tied_embeddings && (ends.embedding || own_copy);
    rank.output += held.ends.final_norm + (shared_here ? 0.0 : projection);
  }
  if (ends.prediction) add_mtp(job, held, rank);
  return rank;
}

void DistinctWeights::add(const LayerDescription& layer, std::size_t form) {
  const unsigned bit = 1U << form;
  for (const LayerOperator& op : layer.operators()) {
    if (op.work != LayerWork::product && op.work != LayerWork::expert_product) continue;
    if (op.frozen) continue;  // nothing takes their place in autograd
    const auto end = shapes_.begin() + static_cast<std::ptrdiff_t>(count_);
    const auto known = std::find_if(shapes_.begin(), end, [&](const Shape& shape) {
      return shape.out == op.out && shape.in == op.in;
    });
    if (known != end) {
      known->forms |= bit;
      continue;
    }
    FORETRAIN_REQUIRE(count_ < shapes_.size());
    shapes_[count_++] = {op.out, op.in, bit};
  }
}

double DistinctWeights::elements(const FormCounts& layers) const {
  unsigned present = 0;
  for (std::size_t form = 0; form < layer_forms; ++form)
    if (layers[form] > 0) present |= 1U << form;
  double sum = 0.0;
  for (std::size_t i = 0; i < count_; ++i)
    if ((shapes_[i].forms & present) != 0) sum += shapes_[i].out * shapes_[i].in;
  return sum;
}

bool full_precision(Precision precision) {
  return precision == Precision::fp32 || precision == Precision::tf32;
}

ParameterBytes parameter_bytes(const Job& job) {
  const MemoryRules& rules = job.stack.memory;
  ParameterBytes per;
  if (full_precision(job.training.precision)) return {4.0, 4.0, 4.0, 4.0, 0.0};
  if (job.training.narrow_weights()) return {2.0, 2.0, 2.0, 2.0, 0.0};
  per.weight = rules.weight_bytes;
  if (job.offloads_masters() && rules.compute_weight_bytes > 0.0)
    per.weight = rules.compute_weight_bytes;
  per.gathered = rules.compute_weight_bytes > 0.0 ? rules.compute_weight_bytes : per.weight;
  if (job.training.precision == Precision::fp16) {
    per.gradient = rules.gradient_bytes_fp16;
    per.step_gradient = rules.step_gradient_bytes_fp16;
  } else {
    per.gradient = rules.gradient_bytes;
    per.step_gradient = rules.step_gradient_bytes;
    const bool half_reduce = !full_precision(job.communication.gradient_dtype);
    // Shards of fp32 weights (FSDP) take what was summed in 16 bits in their own type at once.
    const bool own_type = job.rests_wide();
    if (half_reduce && per.gradient == 4.0 && !own_type) {
      per.gradient = 2.0;
      per.step_gradient = 4.0;
    }
  }
  if (job.training.decoupled_gradients) per.step_gradient = 0.0;
  if (job.fine_tuning.frozen_format == FrozenFormat::fp32) per.frozen = 4.0;
  return per;
}

namespace {

/// What an end of the model holds.
std::int64_t end_parameters(const EndDescription& end) {
  double count = 0.0;  // whole numbers, far below what a double holds exactly
  for (const LayerOperator& op : end.operators())
    count += op.vectors + (op.has_weights() && !op.tied ? op.weights() : 0.0);
  return static_cast<std::int64_t>(count);
}

std::int64_t& part_of(LayerParameters& count, LayerPart part) {
  switch (part) {
    case LayerPart::attention:
      return count.attention;
    case LayerPart::mlp:
      return count.dense_mlp;
    case LayerPart::router:
      return count.router;
    case LayerPart::experts:
      return count.routed_experts;
    case LayerPart::norm:
    case LayerPart::ends:
      break;
  }
  return count.norms;
}

/// All layers, with `experts` routed experts counted in each MoE layer.
std::int64_t all_layers(const LlmShape& shape, int experts) {
  const FormCounts forms = shape.form_counts(0, shape.layers);
  std::int64_t count = 0;
  for (std::size_t form = 0; form < layer_forms; ++form) {
    if (forms[form] == 0) continue;
    const LayerParameters layer = layer_parameters(shape, layer_types[form]);
    const bool moe = layer_types[form].kind == LayerKind::moe;
    const std::int64_t routed = moe ? layer.routed_experts / shape.moe->experts * experts : 0;
    count += forms[form] * (layer.total() - layer.routed_experts + routed);
  }
  return count;
}

}  // namespace

LayerParameters layer_parameters(const LlmShape& shape, LayerKind kind) {
  return layer_parameters(shape, LayerType{kind});
}

LayerParameters layer_parameters(const LlmShape& shape, const LayerType& type) {
  LayerParameters count;
  LayerDescription layer{false};
  describe_layer(shape, type, {}, layer);
  for (const LayerOperator& op : layer.operators()) {
    const double matrices = op.is_product() ? op.weights() : 0.0;
    // Whole numbers, far below what a double holds exactly.
    part_of(count, op.part) += static_cast<std::int64_t>(matrices + op.vectors + op.buffers);
  }
  return count;
}

std::int64_t embedding_parameters(const LlmShape& shape, int vocabulary) {
  EndDescription end{false};
  describe_embedding(shape, {vocabulary}, end);
  return end_parameters(end);
}

std::int64_t head_parameters(const LlmShape& shape, int vocabulary) {
  EndDescription end{false};
  describe_output(shape, {vocabulary}, end);
  return end_parameters(end);
}

std::int64_t mtp_parameters(const LlmShape& shape) {
  if (shape.mtp_layers == 0) return 0;
  EndDescription end{false};
  describe_prediction(shape, {}, end);
  const std::int64_t layer = layer_parameters(shape, prediction_layer(shape)).total();
  return shape.mtp_layers * (layer + end_parameters(end));
}

std::int64_t parameters(const LlmShape& shape) {
  return embedding_parameters(shape, shape.vocabulary) +
         all_layers(shape, shape.moe ? shape.moe->experts : 0) +
         head_parameters(shape, shape.vocabulary);
}

std::int64_t active_parameters(const LlmShape& shape) {
  return embedding_parameters(shape, shape.vocabulary) +
         all_layers(shape, shape.moe ? shape.moe->top_k : 0) +
         head_parameters(shape, shape.vocabulary);
}

}  // namespace foretrain
