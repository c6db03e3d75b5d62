// SPDX-License-Identifier: Apache-2.0
#include "models/layers/job_flops.hpp"

#include "models/layers/model_ends.hpp"
#include "models/layers/row_statistics.hpp"
#include "models/layers/sliding_window.hpp"

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

/// A gradient of the input, and one of the weights where they are trained.
TokenFlops product_flops(double weights, const LayerOperator& op) {
  const double forward = 2.0 * weights;
  return {forward, forward + (op.frozen ? 0.0 : forward), 0.0,
          op.work == LayerWork::adapter ? 0.0 : forward};
}

TokenFlops layer_flops(const Job& job, const LayerType& type, double keys,
                       AttentionFlops convention) {
  LayerDescription layer{job.fine_tuning, 1.0, false};
  describe_layer(job.model, type, {}, layer);
  TokenFlops sum;
  for (const LayerOperator& op : layer.operators()) {
    if (!op.is_product()) continue;
    const bool expert = op.work == LayerWork::expert_product;
    sum.add(1.0, product_flops(expert ? job.model.moe->top_k * op.out * op.in : op.weights(), op));
  }
  const HeadShape& heads = layer.heads;
  sum.scores = attended_keys(keys, heads.window, heads.chunked) * 2.0 * heads.heads *
               (heads.head_dim + heads.value_dim);
  if (convention == AttentionFlops::causal) sum.scores /= 2.0;
  sum.forward += sum.scores;
  sum.frozen += sum.scores;
  sum.backward += 2.0 * sum.scores;
  return sum;
}

TokenFlops head_flops(const Job& job) {
  EndCut cut = end_cut(job);
  cut.vocabulary = job.model.vocabulary;
  cut.tensor = 1.0;
  EndDescription output{false};
  describe_output(job.model, cut, output);
  TokenFlops sum;
  for (const LayerOperator& op : output.operators())
    if (op.is_product()) sum.add(1.0, product_flops(op.weights(), op));
  return sum;
}

bool is_plain(const Job& job) {
  return !job.fine_tuning.freezes() && !job.training.samples.vary() &&
         job.fine_tuning.objective == Objective::next_token;
}

}  // namespace

StepFlops job_flops(const Job& job, RecomputeKind recompute, AttentionFlops attention) {
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
  TokenFlops layers;
  for (const LayerType& type : layer_types)
    if (const int count = counts[type_index(type)]; count > 0)
      layers.add(count, layer_flops(job, type, rows.keys, attention));
  TokenFlops all = layers;
  all.add(1.0, head_flops(job));
  double each = all.forward + all.backward;
  if (job.fine_tuning.has_reference()) each += all.frozen;
  double again = 0.0;
  if (recompute == RecomputeKind::selective) again = layers.scores;
  if (recompute == RecomputeKind::full) again = layers.forward;
  const double batch = training.global_batch;
  return {Flop{batch * rows.tokens * each}, Flop{batch * rows.computed * (each + again)}};
}

JobParameters job_parameters(const Job& job) {
  JobParameters count;
  const auto add = [&](const LayerOperator& op, double times) {
    const double held = op.vectors + (op.has_weights() && !op.tied ? op.weights() : 0.0);
    const auto whole = static_cast<std::int64_t>(times * held);
    if (!op.frozen) count.trained += whole;
    if (op.work == LayerWork::adapter || op.name == adapter_magnitudes) count.adapters += whole;
  };
  const LayerCounts counts = layer_counts(job.model, job.training.sequence);
  for (const LayerType& type : layer_types) {
    const int number = counts[type_index(type)];
    if (number == 0) continue;
    LayerDescription layer{job.fine_tuning, 1.0, false};
    describe_layer(job.model, type, {}, layer);
    for (const LayerOperator& op : layer.operators()) add(op, number);
  }
  EndCut cut = end_cut(job);
  cut.vocabulary = job.model.vocabulary;
  cut.tensor = 1.0;
  EndDescription embedding{false};
  describe_embedding(job.model, cut, embedding);
  for (const LayerOperator& op : embedding.operators()) add(op, 1.0);
  EndDescription output{false};
  describe_output(job.model, cut, output);
  for (const LayerOperator& op : output.operators()) add(op, 1.0);
  return count;
}

}  // namespace foretrain
