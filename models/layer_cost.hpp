// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "models/job.hpp"
#include "models/layer_operators.hpp"
#include "models/pass_times.hpp"

namespace foretrain {

/// Prices pieces of the job's model on its device with its stack. Equations: models/README.md,
/// "Layers". Holds what all pieces share, so that a forecast computes it once.
/// @pre the plan is legal and modelled (plan_rules.hpp).
class LayerCost {
 public:
  explicit LayerCost(const Job& job);

  /// One transformer layer that keeps its activations (recompute `none` or `selective`).
  /// @pre the model has layers of that kind.
  [[nodiscard]] const PieceTimes& layer(LayerKind kind = LayerKind::dense) const;
  /// One layer that runs its forward pass again (recompute `full`).
  [[nodiscard]] const PieceTimes& recomputed_layer(LayerKind kind = LayerKind::dense) const;
  /// Word embedding on the first stage.
  [[nodiscard]] PieceTimes embedding() const { return embedding_; }
  /// Final norm, output projection and loss on the last stage.
  [[nodiscard]] PieceTimes head() const { return head_; }

 private:
  struct Layer {
    PieceTimes kept;
    PieceTimes recomputed;
  };

  [[nodiscard]] const Layer& of(LayerKind kind) const {
    return layers_[static_cast<std::size_t>(kind)];
  }

  const Job& job_;
  std::array<Layer, 2> layers_;  ///< by LayerKind
  PieceTimes embedding_;
  PieceTimes head_;
};

}  // namespace foretrain
