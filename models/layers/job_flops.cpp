// SPDX-License-Identifier: Apache-2.0
#include "models/layers/job_flops.hpp"

#include "models/layers/model_ends.hpp"
#include "models/layers/row_statistics.hpp"
#include "models/layers/sliding_window.hpp"
#include "models/layers/vision_tower.hpp"

namespace foretrain {
namespace {

/// FLOPs of a token in the passes through a piece.
struct TokenFlops {
  double forward = 0.0;
  double backward = 0.0;
  double scores = 0.0;  ///< of `forward`
  double frozen = 0.0;  ///< of `forward`: through the model without adapters

  TokenFlops& add(double times, const TokenFlops& other) {
    forward += times * other.forward;
    backward += times * other.backward;
    scores += times * other.scores;
    frozen += times * other.frozen;
    return *this;
  }
};

/// A gradient of the input, and one of the weights where they are trained, or an adapter is made of
/// it.
TokenFlops product_flops(double weights, const LayerOperator& op) {
  const double forward = 2.0 * weights;
  return {forward, forward + (op.frozen && !op.merged ? 0.0 : forward), 0.0,
          op.work == LayerWork::adapter ? 0.0 : forward};
}

/// Weights that a token is multiplied with: of those of experts its own.
double weights_of_token(const LayerOperator& op, const LlmShape& model) {
  return op.part == LayerPart::experts ? model.moe->computing() * op.out * op.in : op.weights();
}

TokenFlops layer_flops(const Job& job, const LayerType& type, double keys,
                       AttentionFlops convention) {
  LayerDescription layer{job.fine_tuning, LayerCut{}, false};
  describe_layer(job.model, type, {}, layer);
  TokenFlops sum;
  for (const LayerOperator& op : layer.operators()) {
    const double scanned = op.scanned.forward * (op.rows == RowKind::keys ? keys : 1.0);
    sum.add(1.0, {scanned, 2.0 * scanned, 0.0, scanned});
    if (op.is_product()) sum.add(1.0, product_flops(weights_of_token(op, job.model), op));
  }
  const HeadShape& heads = layer.heads;
  sum.scores = attended_keys(keys, heads) * 2.0 * heads.heads * (heads.head_dim + heads.value_dim);
  if (convention == AttentionFlops::causal) sum.scores /= 2.0;
  sum.forward += sum.scores;
  sum.frozen += sum.scores;
  sum.backward += 2.0 * sum.scores;
  return sum;
}

EndCut whole_ends(const Job& job) {
  EndCut cut = end_cut(job);
  cut.vocabulary = job.model.vocabulary;
  cut.tensor = 1.0;
  return cut;
}

template <class Describe>
TokenFlops end_flops(const Job& job, const Describe& describe) {
  EndDescription end{false};
  describe(job.model, whole_ends(job), end);
  TokenFlops sum;
  for (const LayerOperator& op : end.operators())
    if (op.is_product()) sum.add(1.0, product_flops(op.weights(), op));
  return sum;
}

/// Of the first layers, which run forward alone.
LayerCounts frozen_counts(const Job& job) {
  LayerCounts counts{};
  for (int layer = 0; layer < job.fine_tuning.frozen_layers; ++layer)
    ++counts[type_index(layer_type(job.model, layer, job.training.sequence))];
  return counts;
}

bool is_plain(const Job& job) {
  return !job.fine_tuning.freezes() && !job.training.samples.vary() && !job.fine_tuning.pairs();
}

}  // namespace

namespace {

/// Of the language model.
StepFlops text_flops(const Job& job, RecomputeKind recompute, AttentionFlops attention) {
  const Training& training = job.training;
  if (is_plain(job)) {
    const FlopsPerSequence step =
        flops_per_step(flops_per_sequence(job.model, training.sequence, job.model.vocabulary,
                                          recompute, attention),
                       training.global_batch);
    return {step.model, step.hardware};
  }
  const RowStatistics rows = row_statistics(job);
  const LayerCounts counts = layer_counts(job.model, training.sequence);
  const LayerCounts frozen = frozen_counts(job);
  TokenFlops layers;
  TokenFlops idle;
  for (const LayerType& type : layer_types) {
    const std::size_t at = type_index(type);
    if (counts[at] == 0) continue;
    const TokenFlops each = layer_flops(job, type, rows.keys, attention);
    layers.add(counts[at], each);
    idle.add(frozen[at], each);
  }
  const double modules = job.model.mtp_layers;
  if (modules > 0.0) {
    layers.add(modules, layer_flops(job, {prediction_layer(job.model)}, rows.keys, attention));
    layers.add(modules, end_flops(job, describe_prediction));
  }
  TokenFlops all = layers;
  all.add(1.0 + modules, end_flops(job, describe_output));
  all.add(1.0, end_flops(job, describe_embedding));
  double each = all.forward + all.backward - idle.backward;
  if (job.fine_tuning.has_reference()) each += all.frozen;
  double again = 0.0;
  if (recompute == RecomputeKind::selective) again = layers.scores - idle.scores;
  if (recompute == RecomputeKind::full) again = layers.forward - idle.forward;
  const double batch = training.global_batch;
  return {Flop{batch * rows.tokens * each}, Flop{batch * rows.computed * (each + again)}};
}

}  // namespace

StepFlops job_flops(const Job& job, RecomputeKind recompute, AttentionFlops attention) {
  StepFlops flops = text_flops(job, recompute, attention);
  if (!job.has_tower()) return flops;
  const StepFlops tower = tower_flops(job, recompute);
  return {flops.model + tower.model, flops.hardware + tower.hardware};
}

namespace {

/// Of a description's operators, how often the model has each.
double held_times(const LayerOperator& op, const Job& job) {
  const bool shared = job.fine_tuning.expert_adapters == ExpertAdapters::shared;
  const bool adapter = op.work == LayerWork::adapter;
  return shared && adapter && op.part == LayerPart::experts ? job.parallel.expert : 1.0;
}

bool is_adapter(const LayerOperator& op) {
  return op.work == LayerWork::adapter || op.work == LayerWork::adapter_merge ||
         op.name == adapter_magnitudes;
}

}  // namespace

JobParameters job_parameters(const Job& job) {
  JobParameters count;
  const auto add = [&](const auto& description, double times, double frozen = 0.0) {
    for (const LayerOperator& op : description.operators()) {
      const double held = op.vectors + (op.has_weights() && !op.tied ? op.weights() : 0.0);
      const auto whole = static_cast<std::int64_t>(times * held_times(op, job) * held);
      const auto idle = static_cast<std::int64_t>(frozen * held_times(op, job) * held);
      if (!op.frozen) count.trained += whole - idle;
      if (is_adapter(op)) count.adapters += whole;
    }
  };
  const auto add_layers = [&](const LayerType& type, double number, double frozen = 0.0) {
    LayerDescription layer{job.fine_tuning, LayerCut{}, false};
    describe_layer(job.model, type, {}, layer);
    add(layer, number, frozen);
  };
  const auto add_end = [&](const auto& describe, double number) {
    EndDescription end{false};
    describe(job.model, whole_ends(job), end);
    add(end, number);
  };
  const LayerCounts counts = layer_counts(job.model, job.training.sequence);
  const LayerCounts frozen = frozen_counts(job);
  for (const LayerType& type : layer_types)
    if (const int number = counts[type_index(type)]; number > 0)
      add_layers(type, number, frozen[type_index(type)]);
  add_end(describe_embedding, 1.0);
  add_end(describe_output, 1.0);
  count.trained += static_cast<std::int64_t>(rank_tower(job, Counted::trained));
  const int modules = job.model.mtp_layers;
  if (modules == 0) return count;
  add_layers({prediction_layer(job.model)}, modules);
  add_end(describe_prediction, modules);
  return count;
}

}  // namespace foretrain
