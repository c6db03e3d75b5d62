// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/quantity.hpp"
#include "models/inputs/job.hpp"
#include "models/post_training/post_training_plan.hpp"
#include "models/serving/deployment.hpp"

namespace foretrain {

/// What a loop takes beside passes and generation; sources: models/post_training/README.md,
/// "Loops".
struct LoopTimes {
  Seconds step;    ///< data, rewards by rule, advantages, logging, whatever the batch
  Seconds answer;  ///< of each answer, on one processor
  Seconds turn;    ///< colocated: engine to sleep and back, trainer's states out and in
  Seconds sync;    ///< start of a synchronisation
};
[[nodiscard]] LoopTimes loop_times();

/// Whether the loop's clock of generation counts putting weights into the engine as well.
[[nodiscard]] bool generation_counts_sync(PolicyLoop loop);

/// Matrices of the model as checkpoints name them: experts one by one.
[[nodiscard]] double checkpoint_tensors(const LlmShape& model);

/// New weights from the trainer into all replicas of the engine.
[[nodiscard]] Seconds weight_sync_time(const PostTrainingPlan& plan, const Deployment& rollout);

/// Colocated: from training to generation and back, once per step; zero where they are apart.
[[nodiscard]] Seconds turn_time(const PostTrainingPlan& plan, const Job& policy,
                                Bytes resident_states);

}  // namespace foretrain
