// SPDX-License-Identifier: Apache-2.0
// Which pieces a model is cut into, and what each holds and computes.
#include "models/step/internal/step_pieces.hpp"

#include "models/inputs/recipe.hpp"
#include "models/layers/eight_bit_weights.hpp"
#include "models/layers/layer_ends.hpp"
#include "models/layers/parameters.hpp"
#include "models/layers/vision_tower.hpp"
#include "models/step/step_costs.hpp"

namespace foretrain {

std::vector<LayerVariant> layer_variants(const Job& job) {
  std::vector<LayerVariant> variants;
  const bool full = job.memory.recompute.kind == RecomputeKind::full;
  const LayerCounts counts = layer_counts(job.model, job.training.sequence);
  for (const LayerType& type : layer_types) {
    if (counts[type_index(type)] == 0) continue;
    for (const bool wide : {false, true}) {
      if (wide && bf16_end_layers(job.training) == 0) continue;
      LayerVariant variant = variant_of(type, false, wide);
      variants.push_back(variant);
      variant.recomputed = true;
      if (full) variants.push_back(variant);
      variant.recomputed = false;
      variant.frozen = true;
      if (job.fine_tuning.frozen_layers > 0) variants.push_back(variant);
    }
  }
  return variants;
}

Job reference_job(const Job& job) {
  Job reference = job;
  reference.fine_tuning = FineTuning{};
  reference.fine_tuning.trained.emplace();
  if (job.fine_tuning.reference != ReferenceKind::without_adapters) return reference;
  reference.fine_tuning.frozen_format = job.fine_tuning.frozen_format;
  reference.fine_tuning.packed_experts = job.fine_tuning.packed_experts;
  return reference;
}

namespace {

/// Prediction modules on a stage without the loss, with their copy of the table.
PieceParameters prediction_parameters(const Job& job, const HeldLayers& layers) {
  const auto held = [&](const RankLayers& of) {
    const RankLayer& layer = of.of({prediction_layer(job.model)});
    return RankLayer{.dense = layer.dense + of.ends.prediction.dense, .experts = layer.experts};
  };
  const double modules = job.model.mtp_layers;
  const RankLayer all = held(layers.all);
  const RankLayer trained = held(layers.trained);
  return {modules * all.dense + layers.all.ends.table, modules * all.experts,
          modules * trained.dense + layers.trained.ends.table, modules * trained.experts};
}

}  // namespace

PieceParameters piece_parameters(const Job& job, const HeldLayers& layers, PieceKind kind) {
  const RankEnds& ends = layers.all.ends;
  const RankEnds& learns = layers.trained.ends;
  const double own = job.model.tied_embeddings ? 0.0 : 1.0;
  const double stages = job.parallel.pipeline;
  switch (kind) {
    case PieceKind::embedding:
      return {ends.table, 0.0, learns.table, 0.0};
    case PieceKind::head:
      return {own * ends.projection, 0.0, own * learns.projection, 0.0};
    case PieceKind::vocabulary_share:
      return {(ends.table + own * ends.projection) / stages, 0.0,
              (learns.table + own * learns.projection) / stages, 0.0};
    case PieceKind::vision:
      return {ends.tower, 0.0, learns.tower, 0.0,
              job.fine_tuning.trains(ModelPart::vision) ? 0.0 : ends.tower - learns.tower};
    case PieceKind::prediction:
      return prediction_parameters(job, layers);
    case PieceKind::replicas:
    case PieceKind::outputs:
    case PieceKind::other_loss:
      return {};
    default:
      break;
  }
  const LayerVariant variant = layer_of(kind).value_or(LayerVariant{});
  if (variant.frozen) return {};  // of replicas that hold whole weights, nothing travels
  const LayerType type = variant.type();
  const RankLayer& held = layers.all.of(type);
  const RankLayer& trained = layers.trained.of(type);
  const FineTuning& tuning = job.fine_tuning;
  constexpr double sixteen_bits = 2.0;
  const double less =
      tuning.packs_frozen() ? 1.0 - packed_bytes(tuning.frozen_format) / sixteen_bits : 0.0;
  const double less_experts = tuning.packs_experts() ? less : 0.0;
  // Packed weights travel packed, those that ranks cast before they travel in 8 bits.
  const double cast = narrower_shards(job);
  return {held.dense - less * (held.dense_matrices - trained.dense_matrices) -
              cast * trained.dense_matrices,
          held.experts - less_experts * (held.experts - trained.experts) - cast * trained.experts,
          trained.dense, trained.experts};
}

std::vector<PieceKind> pieces_with_parameters(const Job& job) {
  std::vector<PieceKind> pieces{PieceKind::embedding, PieceKind::head};
  if (splits_vocabulary(job.parallel)) pieces.push_back(PieceKind::vocabulary_share);
  if (job.has_tower()) pieces.push_back(PieceKind::vision);
  if (predicts_apart(job)) pieces.push_back(PieceKind::prediction);
  for (const LayerVariant& variant : layer_variants(job)) pieces.push_back(layer_piece(variant));
  return pieces;
}

namespace {

/// Forward passes through the reference, before those that are kept.
void add_reference_operators(const Job& job, PieceOperators& operators) {
  const Job reference = reference_job(job);
  const auto before = [&](PieceKind kind, Operators first) {
    for (Operator& op : first) op.drop_backward();
    Operators& of = operators[static_cast<std::size_t>(kind)];
    of.insert(of.begin(), first.begin(), first.end());
  };
  before(PieceKind::embedding, embedding_operators(reference));
  before(PieceKind::head, head_operators(reference));
  if (job.has_tower()) before(PieceKind::vision, tower_operators(reference));
  for (const LayerVariant& variant : layer_variants(job)) {
    LayerVariant kept = variant;
    kept.recomputed = kept.frozen = false;
    before(layer_piece(variant), layer_operators(reference, kept));
  }
}

}  // namespace

PieceOperators piece_operators(const Job& job) {
  PieceOperators operators;
  const auto of = [&](PieceKind kind) -> Operators& {
    return operators[static_cast<std::size_t>(kind)];
  };
  of(PieceKind::embedding) = embedding_operators(job);
  of(PieceKind::head) = head_operators(job);
  if (job.has_tower()) of(PieceKind::vision) = tower_operators(job);
  if (splits_vocabulary(job.parallel))
    of(PieceKind::vocabulary_share) = vocabulary_share_operators(job);
  if (predicts_apart(job)) of(PieceKind::prediction) = prediction_operators(job);
  if (job.parallel.single_process()) of(PieceKind::other_loss) = other_loss_operators(job);
  for (const LayerVariant& variant : layer_variants(job))
    of(layer_piece(variant)) = layer_operators(job, variant);
  if (job.fine_tuning.has_reference()) add_reference_operators(job, operators);
  return operators;
}

}  // namespace foretrain
