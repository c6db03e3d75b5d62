// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/memory_items.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Tokens as one rank sees them (models/README.md, "Memory", for the symbols).
struct LocalTokens {
  double all = 0.0;       ///< N: micro_batch * sequence / context
  double residual = 0.0;  ///< U: of the residual stream; N/t with sequence parallelism, else N
  double split = 0.0;     ///< T = N/t: of anything split by heads or MLP width
  double scores = 0.0;    ///< A: elements of all attention matrices of one layer
};

[[nodiscard]] LocalTokens local_tokens(const Job& job);

/// Tokens of the busiest expert rank over the mean, what exceeds the experts' capacity dropped.
/// @pre the model has experts.
[[nodiscard]] double expert_imbalance(const Job& job);

/// What one layer keeps of one micro-batch for its backward pass, in bytes on one rank.
struct LayerActivations {
  double attention_norm_input = 0.0;
  double attention_norm_output = 0.0;
  double mlp_norm_input = 0.0;
  double mlp_norm_output = 0.0;
  double norm_statistics = 0.0;  ///< with the extra copies of unfused norms
  double qkv = 0.0;
  double scores = 0.0;
  double attention_output = 0.0;
  double dropout_masks = 0.0;
  double mlp_input = 0.0;  ///< input of the activation function, shared experts included
  double mlp_output = 0.0;
  double dispatch = 0.0;       ///< router and unpermuted tokens
  double expert_tokens = 0.0;  ///< permuted inputs of the experts
  double expert_input = 0.0;   ///< of the experts' activation function
  double expert_output = 0.0;
  double expert_combined = 0.0;  ///< results before they are weighted and sent back

  [[nodiscard]] double total() const;
  /// Adds `times` such layers to their rows.
  void add_to(MemoryBytes& rows, double times) const;
};

/// Per-layer and end-of-model activations of a job. Depends on no stage.
struct ActivationModel {
  LocalTokens tokens;
  LayerActivations dense;  ///< kept without or with selective recomputation, offload done
  LayerActivations moe;
  LayerActivations dense_whole;  ///< nothing recomputed or offloaded
  LayerActivations moe_whole;
  double offloaded_dense = 0.0;  ///< bytes per layer that wait in host memory instead
  double offloaded_moe = 0.0;
  double layer_input = 0.0;      ///< residual stream, what full recomputation keeps
  double dense_transient = 0.0;  ///< while one layer goes backward
  double moe_transient = 0.0;
  double first_stage = 0.0;  ///< embedding dropout
  double last_stage = 0.0;   ///< final norm and token arrays
  double mtp_module = 0.0;   ///< one prediction module without its layer
  double loss = 0.0;
  double loss_gradient = 0.0;
  double retained_loss = 0.0;  ///< softmax that a prediction module's loss keeps until backward
  double output_weight_gradient = 0.0;
  double deferred_output = 0.0;  ///< operands of the output layer's weight gradient
  double mask = 0.0;             ///< one micro-batch's attention mask from the data loader
};

[[nodiscard]] ActivationModel activation_model(const Job& job);

}  // namespace foretrain
