// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "models/inputs/job.hpp"
#include "models/layers/expert_load.hpp"
#include "models/layers/layer_activations.hpp"
#include "models/layers/layer_ends.hpp"
#include "models/layers/parameters.hpp"

namespace foretrain {

/// Tokens as one rank sees them (models/memory/README.md, "Symbols").
struct LocalTokens {
  double all = 0.0;       ///< N: micro_batch * sequence / context
  double residual = 0.0;  ///< U: of the residual stream; N/t with sequence parallelism, else N
  double split = 0.0;     ///< T = N/t: of anything split by heads or MLP width
  double scores = 0.0;    ///< A: elements of all attention matrices of one layer
};

/// Of rows that are full.
[[nodiscard]] LocalTokens local_tokens(const Job& job);

/// How a micro-batch loads the ranks of experts, with what exceeds their capacity dropped.
/// @param layers whose rows a rank holds together; 1: one layer, for whose busiest rank all wait
/// @pre the model has experts.
[[nodiscard]] ExpertLoad expert_load(const Job& job, int layers = 1);

/// What a form of layer saves.
struct FormActivations {
  LayerActivations kept;   ///< without or with selective recomputation, offload done
  LayerActivations whole;  ///< nothing recomputed or offloaded
  double offloaded = 0.0;  ///< bytes per layer that wait in host memory instead
  double graphed = 0.0;    ///< of what is kept, bytes per layer in the pools of CUDA graphs
  double transient = 0.0;  ///< while one layer goes backward
};

/// Per-layer and end-of-model activations of a job. Depends on no stage.
struct ActivationModel {
  LocalTokens tokens;
  RankLayers parameters;  ///< of the same layers
  RankLayers trained;     ///< of those, what is not frozen
  DistinctWeights distinct;
  std::array<FormActivations, layer_forms> forms;  ///< by form_index(); those that the job has
  double layer_input = 0.0;  ///< residual stream, what full recomputation keeps
  double tower = 0.0;        ///< what the vision tower keeps of a micro-batch
  EndActivations embedding;
  EndActivations output;      ///< of final norm, projection and loss, the last of the model
  EndActivations prediction;  ///< one prediction module without its layer and its output
  double output_weight_gradient = 0.0;
  double largest_matrix = 0.0;  ///< elements of a linear layer's weight, of the largest one
  double mask = 0.0;            ///< one micro-batch's attention mask from the data loader

  /// Some layer's saved tensors wait in host memory.
  [[nodiscard]] bool offloads() const;
  [[nodiscard]] const FormActivations& of(const LayerType& type) const {
    return forms[form_index(type)];
  }
};

[[nodiscard]] ActivationModel activation_model(const Job& job);

}  // namespace foretrain
