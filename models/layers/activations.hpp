// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/job.hpp"
#include "models/layers/layer_activations.hpp"
#include "models/layers/memory_parameters.hpp"
#include "models/layers/model_ends.hpp"

namespace foretrain {

/// Tokens as one rank sees them (models/README.md, "Memory", for the symbols).
struct LocalTokens {
  double all = 0.0;       ///< N: micro_batch * sequence / context
  double residual = 0.0;  ///< U: of the residual stream; N/t with sequence parallelism, else N
  double split = 0.0;     ///< T = N/t: of anything split by heads or MLP width
  double scores = 0.0;    ///< A: elements of all attention matrices of one layer
};

/// Of rows that are full.
[[nodiscard]] LocalTokens local_tokens(const Job& job);

/// Tokens of the busiest expert rank over the mean, what exceeds the experts' capacity dropped.
/// @pre the model has experts.
[[nodiscard]] double expert_imbalance(const Job& job);

/// distinct_weight_elements() of a stage with layers of one kind, or of both.
struct DistinctWeights {
  double dense = 0.0;
  double moe = 0.0;
  double both = 0.0;
};

/// Per-layer and end-of-model activations of a job. Depends on no stage.
struct ActivationModel {
  LocalTokens tokens;
  RankLayers parameters;  ///< of the same layers
  RankLayers trained;     ///< of those, what is not frozen
  DistinctWeights distinct;
  LayerActivations dense;  ///< kept without or with selective recomputation, offload done
  LayerActivations moe;
  LayerActivations dense_whole;  ///< nothing recomputed or offloaded
  LayerActivations moe_whole;
  double offloaded_dense = 0.0;  ///< bytes per layer that wait in host memory instead
  double offloaded_moe = 0.0;
  double graphed_dense = 0.0;  ///< of what is kept, bytes per layer in the pools of CUDA graphs
  double graphed_moe = 0.0;
  double layer_input = 0.0;      ///< residual stream, what full recomputation keeps
  double dense_transient = 0.0;  ///< while one layer goes backward
  double moe_transient = 0.0;
  EndActivations embedding;
  EndActivations output;      ///< of final norm, projection and loss, the last of the model
  EndActivations prediction;  ///< one prediction module without its layer and its output
  double output_weight_gradient = 0.0;
  double largest_matrix = 0.0;  ///< elements of a linear layer's weight, of the largest one
  double mask = 0.0;  ///< one micro-batch's attention mask from the data loader
};

[[nodiscard]] ActivationModel activation_model(const Job& job);

}  // namespace foretrain
