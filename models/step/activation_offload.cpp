// SPDX-License-Identifier: Apache-2.0
#include "models/step/activation_offload.hpp"

#include <algorithm>

namespace foretrain {

bool offloads_activations(const MemoryOptions& memory) {
  return memory.offloaded_layers > 0 || !(memory.activation_offload == LayerModules{});
}

ActivationOffload::ActivationOffload(const Job& job) : job_{job} {
  if (offloads_activations(job.memory)) model_ = activation_model(job);
}

Bytes ActivationOffload::of_layer(const LayerVariant& variant) const {
  if (!model_ || variant.frozen) return Bytes{};
  const double whole =
      std::min(1.0, static_cast<double>(job_.memory.offloaded_layers) / job_.model.layers);
  if (variant.recomputed) {
    const Recompute& recompute = job_.memory.recompute;
    const bool groups = recompute.method == RecomputeMethod::uniform;
    return Bytes{whole * model_->layer_input / (groups ? std::max(1, recompute.layers) : 1)};
  }
  const FormActivations& layer = model_->of(variant.type());
  return Bytes{layer.offloaded + whole * layer.kept.total()};
}

OffloadShown ActivationOffload::shown(const LayerVariant& variant, const PieceTimes& times) const {
  const Bytes bytes = of_layer(variant);
  if (bytes <= Bytes{}) return {};
  const Link& link = job_.cluster.host.pcie;
  const Seconds copies = bytes / (link.achievable * link.bandwidth);
  return {max(Seconds{}, copies - times.forward.total()),
          max(Seconds{}, copies - times.backward().total())};
}

}  // namespace foretrain
