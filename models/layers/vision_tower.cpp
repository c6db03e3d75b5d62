// SPDX-License-Identifier: Apache-2.0
// What a vision tower holds, computes, keeps and takes; models/layers/README.md, "Vision towers".
#include "models/layers/vision_tower.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "models/inputs/job.hpp"
#include "models/inputs/recipe.hpp"
#include "models/layers/activations.hpp"
#include "models/layers/flops.hpp"
#include "models/layers/internal/layer_builder.hpp"
#include "models/layers/layer_cost.hpp"
#include "models/layers/parameters.hpp"

namespace foretrain {
namespace {

using layer_detail::OperatorSum;

/// The tower of a job as jobs of their own on one rank, whose micro-batch is that many images: of
/// patches in its layers, of tokens in its projectors.
struct TowerJob {
  /// @pre job.has_tower()
  explicit TowerJob(const Job& job);

  Job layers;
  Job projectors;
  bool trains_layers;
  bool trains_projectors;
  double share;  ///< images of the job's micro-batch over those of these jobs

  [[nodiscard]] bool trains() const { return trains_layers || trains_projectors; }
};

/// One rank alone, which nothing is cut over.
Parallel tower_plan(const Job& job) {
  Parallel plan;
  plan.data = job.parallel.data;
  plan.zero = job.parallel.zero;
  plan.zero_group = job.parallel.zero_group;
  plan.processes = job.parallel.processes;
  plan.framework = job.parallel.framework;
  return plan;
}

/// Towers are computed in 16 bits where language models are quantised.
void set_tower_training(const Job& job, Job& tower) {
  Training& training = tower.training;
  training.images = {};
  training.samples = {};
  training.vocabulary_multiple = 1;
  if (quantised(training.precision)) training.precision = Precision::bf16;
  training.bf16_end_layers = 0;
  training.fp8_attention = false;
  training.hidden_dropout = training.attention_dropout = 0.0;
  const bool whole = training.cuda_graphs.has(GraphPart::full_iteration);
  training.cuda_graphs = {};
  if (whole) training.cuda_graphs.add(GraphPart::full_iteration);
  const double images = job.training.images.per_sequence * job.training.micro_batch;
  training.micro_batch = std::max(1, static_cast<int>(std::ceil(images)));
  training.global_batch = training.micro_batch * tower.parallel.data * job.microbatches();
}

/// All of the model is trained, or nothing.
FineTuning tower_tuning(bool trains) {
  FineTuning tuning;
  if (!trains) tuning.trained.emplace();
  return tuning;
}

TowerJob::TowerJob(const Job& job)
    : layers{job},
      trains_layers{job.fine_tuning.trains(ModelPart::vision)},
      trains_projectors{job.fine_tuning.trains(ModelPart::projector)} {
  FORETRAIN_REQUIRE(job.has_tower());
  const VisionShape& vision = *job.model.vision;
  layers.model = tower_shape(vision);
  layers.parallel = tower_plan(job);
  set_tower_training(job, layers);
  layers.memory.activation_offload = {};
  layers.memory.offloaded_layers = 0;
  layers.memory.attention_mask = false;
  layers.memory.fp8_parameters = layers.memory.fp8_activation_inputs = false;
  layers.fine_tuning = tower_tuning(trains_layers);
  const int tokens = job.image_tokens();
  layers.training.sequence = tokens * vision.merged();
  projectors = layers;
  projectors.training.sequence = tokens;
  projectors.fine_tuning = tower_tuning(trains_projectors);
  share = job.training.images.per_sequence * job.training.micro_batch / layers.training.micro_batch;
}

/// Layers of the tower whose forward pass runs again.
int recomputed_tower_layers(const TowerJob& tower) {
  const Recompute& recompute = tower.layers.memory.recompute;
  const int all = tower.layers.model.layers;
  if (!tower.trains_layers || recompute.kind != RecomputeKind::full) return 0;
  return recompute.method == RecomputeMethod::uniform ? all : std::min(all, recompute.layers);
}

double held(const EndDescription& end, Counted counted = Counted::all) {
  double count = 0.0;
  for (const LayerOperator& op : end.operators())
    if (!op.frozen || counted == Counted::all)
      count += op.vectors + (op.has_weights() ? op.weights() : 0.0);
  return count;
}

/// Weights of products that rows are multiplied with, and those whose input needs no gradient.
struct EndWeights {
  double all = 0.0;
  double first = 0.0;
};

EndWeights end_weights(const EndDescription& end) {
  EndWeights weights;
  for (const LayerOperator& op : end.operators()) {
    if (!op.is_product() || op.weights() == 0.0) continue;
    if (weights.all == 0.0) weights.first = op.weights();
    weights.all += op.weights();
  }
  return weights;
}

/// FLOPs of the passes of an image through a part.
struct ImageFlops {
  double forward = 0.0;
  double backward = 0.0;
};

ImageFlops operator+(const ImageFlops& a, const ImageFlops& b) {
  return {a.forward + b.forward, a.backward + b.backward};
}

/// @param below something under it is trained, so that gradients go through it
ImageFlops end_flops(const EndDescription& end, double rows, bool trained, bool below) {
  const EndWeights weights = end_weights(end);
  const double forward = 2.0 * rows * weights.all;
  double backward = trained ? forward : 0.0;
  if (trained || below) backward += forward - (below ? 0.0 : 2.0 * rows * weights.first);
  return {forward, backward};
}

/// Scores, and all else, of all layers.
struct LayerFlops {
  double scores = 0.0;
  double all = 0.0;
};

LayerFlops layers_flops(const Job& layers) {
  const int patches = layers.training.sequence;
  const LayerCounts counts = layer_counts(layers.model, patches);
  LayerFlops sum;
  for (const LayerType& type : layer_types) {
    const int count = counts[type_index(type)];
    if (count == 0) continue;
    // All pairs are those that a causal mask keeps of twice as many.
    const ForwardFlops one =
        layer_forward_flops(layers.model, patches, type, AttentionFlops::causal);
    sum.scores += count * one.attention_scores.value();
    sum.all += count * one.total().value();
  }
  return sum;
}

ImageFlops projector_flops(const TowerJob& tower, const VisionShape& vision, int hidden) {
  ImageFlops sum;
  for (int projector = 0; projector <= vision.inner_projectors; ++projector) {
    EndDescription end{false};
    describe_projector(vision, hidden, projector > 0, !tower.trains_projectors, end);
    sum = sum + end_flops(end, tower.projectors.training.sequence, tower.trains_projectors,
                          tower.trains_layers);
  }
  return sum;
}

/// Bytes that the saved tensors of an end take for a job's micro-batch.
double saved_bytes(const EndDescription& end, const Job& job) {
  const double element = full_precision(job.training.precision) ? 4.0 : 2.0;
  double width = 0.0;
  for (const EndTensor& tensor : end.saved()) width += tensor.width;
  return element * width * job.training.micro_batch * job.training.sequence;
}

double layer_activations(const TowerJob& tower) {
  if (!tower.trains_layers) return 0.0;
  const Job& job = tower.layers;
  const ActivationModel model = activation_model(job);
  const int again = recomputed_tower_layers(tower);
  const FormCounts whole = job.model.form_counts(again, job.model.layers - again);
  double bytes = again * model.layer_input;
  for (std::size_t form = 0; form < layer_forms; ++form)
    bytes += whole[form] * model.forms[form].kept.total();
  return bytes;
}

double projector_activations(const TowerJob& tower, const VisionShape& vision, int hidden) {
  if (!tower.trains()) return 0.0;
  double bytes = 0.0;
  for (int projector = 0; projector <= vision.inner_projectors; ++projector) {
    EndDescription end;
    describe_projector(vision, hidden, projector > 0, !tower.trains_projectors, end);
    bytes += saved_bytes(end, tower.projectors);
  }
  return bytes;
}

/// Operators of an end in the passes that it has.
/// @param below something under it is trained, so that its input needs a gradient
Operators tower_end(const EndDescription& end, const Job& job, bool trained, bool below) {
  Operators listed;
  OperatorSum sum{listed};
  layer_detail::add_operators(end.operators(), {}, layer_detail::LayerContext{job}, sum);
  bool first = true;
  for (Operator& op : listed) {
    if (!trained && !below) op.drop_backward();
    if (op.kind == OperatorKind::product && first && !below) op.input_gradient = Seconds{};
    if (op.kind == OperatorKind::product) first = false;
  }
  return listed;
}

void append(const Operators& more, Operators& all) {
  all.insert(all.end(), more.begin(), more.end());
}

Operators projector_operators(const TowerJob& tower, const VisionShape& vision, int hidden) {
  Operators all;
  for (int projector = 0; projector <= vision.inner_projectors; ++projector) {
    EndDescription end{false};
    describe_projector(vision, hidden, projector > 0, !tower.trains_projectors, end);
    append(tower_end(end, tower.projectors, tower.trains_projectors, tower.trains_layers), all);
  }
  return all;
}

Operators patch_operators(const TowerJob& tower, const VisionShape& vision) {
  EndDescription end{false};
  describe_tower_ends(vision, !tower.trains_layers, end);
  return tower_end(end, tower.layers, tower.trains_layers, false);
}

/// The layers of a tower in order.
template <class Use>
void each_layer(const TowerJob& tower, const Use& use) {
  const Job& job = tower.layers;
  const int again = recomputed_tower_layers(tower);
  for (int layer = 0; layer < job.model.layers; ++layer) {
    LayerVariant variant =
        variant_of(layer_type(job.model, layer, job.training.sequence), layer < again);
    variant.frozen = !tower.trains_layers;
    use(variant);
  }
}

void scale(double share, Operators& operators) {
  for (Operator& op : operators) {
    op.forward *= share;
    op.input_gradient *= share;
    op.weight_gradient *= share;
    op.recompute *= share;
    op.flop *= share;
    op.bytes *= share;
  }
}

PieceTimes sum_of(const Operators& operators) {
  PieceTimes sum;
  for (const Operator& op : operators) {
    sum.forward.compute += op.forward;
    sum.input_gradient.compute += op.input_gradient;
    sum.weight_gradient.compute += op.weight_gradient;
  }
  return sum;
}

}  // namespace

TowerParameters tower_parameters(const VisionShape& vision, int hidden) {
  const LlmShape shape = tower_shape(vision);
  EndDescription ends{false};
  describe_tower_ends(vision, false, ends);
  TowerParameters count;
  count.tower = shape.layers * layer_parameters(shape, LayerKind::dense).total() +
                static_cast<std::int64_t>(held(ends));
  for (int projector = 0; projector <= vision.inner_projectors; ++projector) {
    EndDescription end{false};
    describe_projector(vision, hidden, projector > 0, false, end);
    count.projectors += static_cast<std::int64_t>(held(end));
  }
  return count;
}

double rank_tower(const Job& job, Counted counted) {
  if (!job.has_tower()) return 0.0;
  const TowerParameters count = tower_parameters(*job.model.vision, job.model.hidden);
  const auto learns = [&](ModelPart part) {
    return counted == Counted::all || job.fine_tuning.trains(part);
  };
  return (learns(ModelPart::vision) ? static_cast<double>(count.tower) : 0.0) +
         (learns(ModelPart::projector) ? static_cast<double>(count.projectors) : 0.0);
}

StepFlops tower_flops(const Job& job, RecomputeKind recompute) {
  const VisionShape& vision = *job.model.vision;
  const TowerJob tower{job};
  const LayerFlops layers = layers_flops(tower.layers);
  EndDescription ends{false};
  describe_tower_ends(vision, !tower.trains_layers, ends);
  ImageFlops image{layers.all, tower.trains_layers ? 2.0 * layers.all : 0.0};
  image = image + end_flops(ends, tower.layers.training.sequence, tower.trains_layers, false);
  image = image + projector_flops(tower, vision, job.model.hidden);
  double again = 0.0;
  if (tower.trains_layers && recompute == RecomputeKind::selective) again = layers.scores;
  if (tower.trains_layers && recompute == RecomputeKind::full) again = layers.all;
  const double passes = job.fine_tuning.has_reference() ? 2.0 : 1.0;
  const double images = job.training.images.per_sequence * job.training.global_batch;
  const double model = passes * image.forward + image.backward;
  const Parallel& plan = job.parallel;
  const double copies = 1.0 * plan.gpus() / (plan.pipeline * plan.data);
  return {Flop{images * model}, Flop{images * copies * (model + again)}};
}

double tower_activations(const Job& job) {
  const VisionShape& vision = *job.model.vision;
  const TowerJob tower{job};
  EndDescription ends;
  describe_tower_ends(vision, !tower.trains_layers, ends);
  return tower.share * (layer_activations(tower) + saved_bytes(ends, tower.layers) +
                        projector_activations(tower, vision, job.model.hidden));
}

PieceTimes tower_times(const Job& job) {
  const VisionShape& vision = *job.model.vision;
  const TowerJob tower{job};
  const LayerCost cost{tower.layers};
  PieceTimes times;
  each_layer(tower, [&](const LayerVariant& variant) { times += cost.layer(variant); });
  times += sum_of(patch_operators(tower, vision));
  times += sum_of(projector_operators(tower, vision, job.model.hidden));
  return tower.share * times;
}

Operators tower_operators(const Job& job) {
  const VisionShape& vision = *job.model.vision;
  const TowerJob tower{job};
  Operators all = patch_operators(tower, vision);
  each_layer(tower, [&](const LayerVariant& variant) {
    append(layer_operators(tower.layers, variant), all);
  });
  append(projector_operators(tower, vision, job.model.hidden), all);
  scale(tower.share, all);
  return all;
}

}  // namespace foretrain
