// SPDX-License-Identifier: Apache-2.0
#include "models/layers/flops.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "models/layers/layer_ends.hpp"
#include "models/layers/row_statistics.hpp"
#include "models/layers/vision_tower.hpp"

namespace foretrain {
namespace {

ForwardFlops operator+(ForwardFlops sum, const ForwardFlops& term) {
  sum.attention_projections += term.attention_projections;
  sum.attention_scores += term.attention_scores;
  sum.scans += term.scans;
  sum.dense_mlp += term.dense_mlp;
  sum.experts += term.experts;
  sum.router += term.router;
  sum.head += term.head;
  sum.mtp += term.mtp;
  return sum;
}

ForwardFlops operator*(double factor, ForwardFlops flops) {
  flops.attention_projections *= factor;
  flops.attention_scores *= factor;
  flops.scans *= factor;
  flops.dense_mlp *= factor;
  flops.experts *= factor;
  flops.router *= factor;
  flops.head *= factor;
  flops.mtp *= factor;
  return flops;
}

/// Forward FLOPs of an end's products over `tokens`.
Flop end_flops(const EndDescription& end, double tokens) {
  double weights = 0.0;
  for (const LayerOperator& op : end.operators())
    if (op.is_product()) weights += op.weights();
  return Flop{2.0 * tokens * weights};
}

Flop head_flops(const LlmShape& shape, int vocabulary, double tokens) {
  EndDescription output{false};
  describe_output(shape, {vocabulary}, output);
  return end_flops(output, tokens);
}

/// Forward FLOPs of the multi-token-prediction modules: what is recomputed with the layers, and
/// their heads, which are not.
struct MtpFlops {
  Flop layers;
  Flop scores;  ///< part of `layers`
  Flop heads;
};

MtpFlops mtp_forward(const LlmShape& shape, int sequence, int vocabulary,
                     AttentionFlops attention) {
  MtpFlops result;
  if (shape.mtp_layers == 0) return result;
  const ForwardFlops layer =
      layer_forward_flops(shape, sequence, {prediction_layer(shape)}, attention);
  EndDescription prediction{false};
  describe_prediction(shape, {vocabulary}, prediction);
  result.layers = shape.mtp_layers * (layer.total() + end_flops(prediction, sequence));
  result.scores = shape.mtp_layers * layer.attention_scores;
  result.heads = shape.mtp_layers * head_flops(shape, vocabulary, sequence);
  return result;
}

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

double attended_keys(double sequence, double window, bool chunked) {
  if (window <= 0.0 || window >= sequence) return sequence;
  if (chunked) {
    const double whole = std::floor(sequence / window);
    const double rest = sequence - whole * window;
    return (whole * window * window + rest * rest) / sequence;
  }
  return window * (2.0 - window / sequence);
}

double attended_keys(double sequence, const HeadShape& heads, bool sees_window) {
  const double near = attended_keys(sequence, sees_window ? heads.window : 0.0, heads.chunked);
  if (heads.both_ways) return sees_window ? 2.0 * near : near;
  if (heads.compressed == 0.0) return near;
  return near + attended_keys(sequence, heads.chosen * heads.compressed) / heads.compressed;
}

double attended_at_end(double sequence, double window, double parts) {
  const double before = sequence * (1.0 - 1.0 / parts);
  const double most = window <= 0.0 ? sequence : std::min(window, sequence);
  if (most <= before) return 2.0 * most;
  const double growing = most * most - before * before;  // tokens that see less than `most`
  return (growing + 2.0 * most * (sequence - most)) / (sequence - before);
}

double attended_at_end(double sequence, const HeadShape& heads, double parts) {
  const double near = attended_at_end(sequence, heads.window, parts);
  if (heads.compressed == 0.0) return near;
  return near +
         attended_at_end(sequence, heads.chosen * heads.compressed, parts) / heads.compressed;
}

ForwardFlops layer_forward_flops(const LlmShape& shape, int sequence, const LayerType& type,
                                 AttentionFlops attention) {
  FORETRAIN_REQUIRE(sequence >= 1);
  LayerDescription layer{false};
  describe_layer(shape, type, {}, layer);
  double scanned = 0.0, attention_weights = 0.0, mlp_weights = 0.0, expert_weights = 0.0,
         router_weights = 0.0;
  for (const LayerOperator& op : layer.operators()) {
    scanned += op.scanned.forward * (op.rows == RowKind::keys ? sequence : 1.0);
    if (!op.is_product()) continue;
    if (op.part == LayerPart::attention) attention_weights += op.weights();
    if (op.part == LayerPart::mlp) mlp_weights += op.weights();
    if (op.part == LayerPart::router) router_weights += op.weights();
    if (op.part == LayerPart::experts) expert_weights += op.out * op.in;  // of one
  }
  const double tokens = sequence;
  const HeadShape& heads = layer.heads;
  ForwardFlops flops;
  flops.attention_projections = Flop{2.0 * tokens * attention_weights};
  flops.attention_scores = Flop{tokens * attended_keys(tokens, heads) *
                                (2.0 * heads.heads * (heads.head_dim + heads.value_dim))};
  if (attention == AttentionFlops::causal) flops.attention_scores /= 2.0;
  flops.scans = Flop{tokens * scanned};
  flops.dense_mlp = Flop{2.0 * tokens * mlp_weights};
  if (type.kind == LayerKind::moe)
    flops.experts = Flop{2.0 * tokens * shape.moe->computing() * expert_weights};
  flops.router = Flop{2.0 * tokens * router_weights};
  return flops;
}

FlopsPerSequence flops_per_sequence(const LlmShape& shape, int sequence, int vocabulary,
                                    RecomputeKind recompute, AttentionFlops attention) {
  FORETRAIN_REQUIRE(sequence >= 1 && vocabulary >= 1);
  FlopsPerSequence result;
  const LayerCounts counts = layer_counts(shape, sequence);
  for (const LayerType& type : layer_types) {
    const int count = counts[type_index(type)];
    if (count > 0)
      result.forward = result.forward + static_cast<double>(count) *
                                            layer_forward_flops(shape, sequence, type, attention);
  }
  const MtpFlops mtp = mtp_forward(shape, sequence, vocabulary, attention);
  const Flop layers = result.forward.total() + mtp.layers;
  const Flop scores = result.forward.attention_scores + mtp.scores;
  result.forward.mtp = mtp.layers + mtp.heads;
  EndDescription embedding{false};
  describe_embedding(shape, {vocabulary}, embedding);
  result.forward.head = head_flops(shape, vocabulary, sequence) + end_flops(embedding, sequence);

  if (recompute == RecomputeKind::selective) result.recompute = scores;
  if (recompute == RecomputeKind::full) result.recompute = layers;
  result.model = 3.0 * result.forward.total();
  result.hardware = result.model + result.recompute;
  return result;
}

FlopsPerSequence flops_per_step(const FlopsPerSequence& one, int global_batch) {
  FORETRAIN_REQUIRE(global_batch >= 1);
  const double sequences = global_batch;
  return {sequences * one.forward, sequences * one.recompute, sequences * one.model,
          sequences * one.hardware};
}

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
