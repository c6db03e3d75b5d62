// SPDX-License-Identifier: Apache-2.0
// models/post_training/README.md, "Loops" and "New weights".
#include "models/post_training/weight_sync.hpp"

#include <array>

#include "models/layers/parameters.hpp"

namespace foretrain {
namespace {

/// What one way of handing weights over takes: per tensor, and the rate at which one replica of the
/// engine is filled.
struct SyncTimes {
  SyncPath path;
  Seconds tensor;
  BytesPerSecond rate;
};
constexpr std::array sync_times{
    SyncTimes{SyncPath::per_tensor, Seconds{1.5e-3}, BytesPerSecond{4e9}},
    SyncTimes{SyncPath::buckets, Seconds{0.4e-3}, BytesPerSecond{8e9}},
    SyncTimes{SyncPath::checkpoint_engine, Seconds{0.0}, BytesPerSecond{65e9}}};

/// On shared GPUs layers are gathered over the trainer's ranks and handed over in place.
constexpr BytesPerSecond gathered_rate{26e9};

SyncTimes times_of(const PostTrainingPlan& plan) {
  if (plan.placement == RolloutPlacement::colocated) return {plan.sync, Seconds{}, gathered_rate};
  for (const SyncTimes& times : sync_times)
    if (times.path == plan.sync) return times;
  return sync_times.front();
}

/// Of every loop: published steps do not tell them apart.
constexpr LoopTimes usual{Seconds{1.0}, Seconds{1e-3}, Seconds{11.0}, Seconds{0.3}};

}  // namespace

LoopTimes loop_times() { return usual; }
bool generation_counts_sync(PolicyLoop loop) { return loop == PolicyLoop::verl; }

double checkpoint_tensors(const LlmShape& model) {
  const double gate = model.gated_mlp ? 3.0 : 2.0;
  constexpr double attention = 4.0;
  constexpr double norms = 2.0;
  double tensors = 2.0 + model.layers * (attention + norms + gate);
  if (model.moe) tensors += 1.0 * model.layers * (gate * model.moe->experts + 1.0);
  return tensors;
}

Seconds weight_sync_time(const PostTrainingPlan& plan, const Deployment& rollout) {
  const SyncTimes times = times_of(plan);
  const Bytes bytes{static_cast<double>(parameters(rollout.model)) *
                    weight_bytes(WeightFormat::bf16)};
  return loop_times().sync + checkpoint_tensors(rollout.model) * times.tensor + bytes / times.rate;
}

Seconds turn_time(const PostTrainingPlan& plan, const Job& policy, Bytes resident_states) {
  if (plan.placement == RolloutPlacement::separate) return {};
  const Link& down = policy.cluster.host.pcie;
  const Seconds moved =
      plan.offload ? 2.0 * (resident_states / (down.bandwidth * down.achievable)) : Seconds{};
  return loop_times().turn + moved;
}

}  // namespace foretrain
