// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/memory_items.hpp"

namespace foretrain {

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
  double mixer_input = 0.0;    ///< projections of state-space and delta mixers, and their outputs
  double mixer_states = 0.0;   ///< what their scans keep
  double dispatch = 0.0;       ///< router and unpermuted tokens
  double expert_tokens = 0.0;  ///< permuted inputs of the experts
  double expert_input = 0.0;   ///< of the experts' activation function
  double expert_output = 0.0;
  double expert_combined = 0.0;  ///< results before they are weighted and sent back
  double merged_weights = 0.0;   ///< of experts, with their adapters' products added

  [[nodiscard]] double total() const;
  /// Adds `times` such layers to their rows. @param rows MemoryBytes or MemorySum
  template <class Rows>
  void add_to(Rows& rows, double times) const {
    using Item = MemoryItem;
    rows[Item::norms] += times * (attention_norm_input + attention_norm_output + mlp_norm_input +
                                  mlp_norm_output + norm_statistics);
    rows[Item::qkv] += times * qkv;
    rows[Item::attention_scores] += times * scores;
    rows[Item::attention_output] += times * attention_output;
    rows[Item::dropout_masks] += times * dropout_masks;
    rows[Item::mlp] += times * (mlp_input + mlp_output);
    rows[Item::mixer] += times * (mixer_input + mixer_states);
    rows[Item::moe_dispatch] += times * (dispatch + expert_tokens + expert_combined);
    rows[Item::experts] += times * (expert_input + expert_output + merged_weights);
  }
};

}  // namespace foretrain
