// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "models/inputs/job.hpp"
#include "models/layers/activations.hpp"
#include "models/layers/layer_operators.hpp"
#include "models/layers/pass_times.hpp"

namespace foretrain {

/// What a layer's kernels do not cover of its saved tensors' way to host memory and back.
struct OffloadShown {
  Seconds forward;   ///< down, beside the forward pass
  Seconds backward;  ///< up, beside the backward pass
};

/// Saved tensors that wait in host memory (memory.activation_offload, and layers that Megatron-Core
/// offloads whole) are copied over the link between a GPU and its processor's memory, beside
/// kernels: a pass lasts longer by max(0, copies - kernels). Where only the first layers of a model
/// are offloaded, their copies are spread over all layers' kernels, as Transformer Engine does.
/// Sources: models/memory/README.md, "Offload".
class ActivationOffload {
 public:
  explicit ActivationOffload(const Job& job);

  /// Bytes of one layer, one way; of a layer that is recomputed whole, its share of what a group of
  /// such layers starts from.
  [[nodiscard]] Bytes of_layer(const LayerVariant& variant) const;
  /// @param times of the layer without its copies
  [[nodiscard]] OffloadShown shown(const LayerVariant& variant, const PieceTimes& times) const;

 private:
  const Job& job_;
  std::optional<ActivationModel> model_;  ///< nothing where nothing is offloaded
};

/// Whether saved tensors leave the device.
[[nodiscard]] bool offloads_activations(const MemoryOptions& memory);

}  // namespace foretrain
