// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "models/base/sparse_array.hpp"
#include "models/inputs/job.hpp"
#include "models/layers/layer_operators.hpp"
#include "models/layers/pass_times.hpp"

namespace foretrain {

/// Prices pieces of the job's model on its device with its stack. Equations:
/// models/layers/README.md, "Time of a layer". Holds what all pieces share, so that a forecast
/// computes it once.
/// @pre the plan is legal and modelled (plan_rules.hpp).
class LayerCost {
 public:
  explicit LayerCost(const Job& job);

  /// One transformer layer. Zero for a kind that the model does not have, and for recomputed layers
  /// where the plan has none; `wide` layers differ where the job has any.
  [[nodiscard]] const PieceTimes& layer(const LayerVariant& variant) const;
  /// One layer that keeps its activations (recompute `none` or `selective`).
  [[nodiscard]] const PieceTimes& layer(LayerKind kind = LayerKind::dense) const {
    return layer({.kind = kind});
  }
  /// One layer that runs its forward pass again (recompute `full`).
  [[nodiscard]] const PieceTimes& recomputed_layer(LayerKind kind = LayerKind::dense) const {
    return layer({.kind = kind, .recomputed = true});
  }
  /// Word embedding on the first stage.
  [[nodiscard]] const PieceTimes& embedding() const { return embedding_; }
  /// Final norm, output projection and loss on the last stage, with prediction modules where they
  /// are there.
  [[nodiscard]] const PieceTimes& head() const { return head_; }
  /// Prediction modules on a stage of their own, without their outputs; else zero.
  [[nodiscard]] const PieceTimes& prediction() const { return prediction_; }
  /// The part of embedding and head that every stage runs when the vocabulary is split over the
  /// pipeline (parallel.vocabulary other than `ends`; arXiv 2411.05288).
  [[nodiscard]] PieceTimes vocabulary_share() const;

 private:
  struct Layer {
    PieceTimes kept;
    PieceTimes recomputed;
    PieceTimes frozen;  ///< forward alone
  };
  using Types = SparseArray<Layer, layer_types.size()>;  ///< by type_index()

  static Types price_layers(const Job& job, bool wide);

  const Job& job_;
  Types layers_;
  Types wide_;
  PieceTimes embedding_;
  PieceTimes head_;
  PieceTimes prediction_;
};

}  // namespace foretrain
