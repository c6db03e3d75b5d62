// SPDX-License-Identifier: Apache-2.0
// What a vision tower takes; models/layers/README.md, "Vision towers".
#include "models/layers/internal/layer_builder.hpp"
#include "models/layers/internal/tower_job.hpp"
#include "models/layers/layer_cost.hpp"
#include "models/layers/vision_tower.hpp"

namespace foretrain {
namespace {

using layer_detail::OperatorSum;
using layer_detail::TowerJob;

/// Operators of an end in the passes that it has.
/// @param below something under it is trained, so that its input needs a gradient
Operators tower_end(const EndDescription& end, const Job& job, bool trained, bool below) {
  Operators listed;
  OperatorSum sum{listed};
  layer_detail::add_operators(end.operators(), {}, layer_detail::LayerContext{job}, sum);
  bool first = true;
  for (Operator& op : listed) {
    if (!trained && !below) op.drop_backward();
    if (op.kind == OperatorKind::product && first && !below) op.input_gradient = Seconds{};
    if (op.kind == OperatorKind::product) first = false;
  }
  return listed;
}

void append(const Operators& more, Operators& all) {
  all.insert(all.end(), more.begin(), more.end());
}

Operators projector_operators(const TowerJob& tower, const VisionShape& vision, int hidden) {
  Operators all;
  for (int projector = 0; projector <= vision.inner_projectors; ++projector) {
    EndDescription end{false};
    describe_projector(vision, hidden, projector > 0, !tower.trains_projectors, end);
    append(tower_end(end, tower.projectors, tower.trains_projectors, tower.trains_layers), all);
  }
  return all;
}

Operators patch_operators(const TowerJob& tower, const VisionShape& vision) {
  EndDescription end{false};
  describe_tower_ends(vision, !tower.trains_layers, end);
  return tower_end(end, tower.layers, tower.trains_layers, false);
}

/// The layers of a tower in order.
template <class Use>
void each_layer(const TowerJob& tower, const Use& use) {
  const Job& job = tower.layers;
  const int again = layer_detail::recomputed_tower_layers(tower);
  for (int layer = 0; layer < job.model.layers; ++layer) {
    LayerVariant variant =
        variant_of(layer_type(job.model, layer, job.training.sequence), layer < again);
    variant.frozen = !tower.trains_layers;
    use(variant);
  }
}

void scale(double share, Operators& operators) {
  for (Operator& op : operators) {
    op.forward *= share;
    op.input_gradient *= share;
    op.weight_gradient *= share;
    op.recompute *= share;
    op.flop *= share;
    op.bytes *= share;
  }
}

PieceTimes sum_of(const Operators& operators) {
  PieceTimes sum;
  for (const Operator& op : operators) {
    sum.forward.compute += op.forward;
    sum.input_gradient.compute += op.input_gradient;
    sum.weight_gradient.compute += op.weight_gradient;
  }
  return sum;
}

}  // namespace

PieceTimes tower_times(const Job& job) {
  const VisionShape& vision = *job.model.vision;
  const TowerJob tower{job};
  const LayerCost cost{tower.layers};
  PieceTimes times;
  each_layer(tower, [&](const LayerVariant& variant) { times += cost.layer(variant); });
  times += sum_of(patch_operators(tower, vision));
  times += sum_of(projector_operators(tower, vision, job.model.hidden));
  return tower.share * times;
}

Operators tower_operators(const Job& job) {
  const VisionShape& vision = *job.model.vision;
  const TowerJob tower{job};
  Operators all = patch_operators(tower, vision);
  each_layer(tower, [&](const LayerVariant& variant) {
    append(layer_operators(tower.layers, variant), all);
  });
  append(projector_operators(tower, vision, job.model.hidden), all);
  scale(tower.share, all);
  return all;
}

}  // namespace foretrain
