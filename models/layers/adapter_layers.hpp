// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/job.hpp"
#include "models/layers/layer_description.hpp"

namespace foretrain {

/// Whether a model has linear layers of this name; models/layers/README.md, "Fine-tuning".
[[nodiscard]] bool has_layers(const LlmShape& model, AdapterTarget target);

/// Whether some layers have an MLP in place of experts.
[[nodiscard]] bool has_dense_layers(const LlmShape& model);

/// Whether adapters stand beside the routed experts of a model.
[[nodiscard]] bool adapts_experts(const LlmShape& model, const FineTuning& tuning);

namespace layer_detail {

/// Whether an adapter's own product starts from the input of this linear layer.
[[nodiscard]] bool has_adapter(const FineTuning& tuning, LinearKind linear);

/// Whether adapters are added to the weights of this linear layer before it is multiplied.
[[nodiscard]] bool merges_adapter(const FineTuning& tuning, LinearKind linear);

/// Whether the weights that start from this linear layer's input are trained themselves. What a
/// norm makes for an MLP is a router's and experts' input as well.
[[nodiscard]] bool trains(const FineTuning& tuning, LinearKind linear);

/// The row that holds what a linear layer starts from.
[[nodiscard]] double LayerActivations::*input_row(LinearKind linear);

/// Calls `add(columns)` for every adapter beside a linear layer: its columns of the result.
/// @param heads of the attention, where the layer is one of its projections
template <class Add>
void for_adapters(const FineTuning& tuning, const LayerOperator& base, const HeadShape& heads,
                  const Add& add) {
  using enum AdapterTarget;
  const auto part = [&](AdapterTarget target, double out) {
    if (tuning.targets.has(target)) add(out);
  };
  switch (base.linear) {
    case LinearKind::qkv:
      part(qkv, base.out);
      part(query, base.out - heads.made * (heads.key + heads.value));  // with the attention's gate
      part(key, heads.made * heads.key);
      return part(value, heads.made * heads.value);
    case LinearKind::mixer_in:
      part(mixer_in, base.out);
      part(mixer_qkvz, base.out - base.apart);
      return part(mixer_ba, base.apart);
    case LinearKind::fc1:
    case LinearKind::expert_fc1:
      part(fc1, base.out);
      part(gate, base.out / base.fused);
      return part(up, base.out / base.fused);
    default:
      add(base.out);
  }
}

}  // namespace layer_detail
}  // namespace foretrain
