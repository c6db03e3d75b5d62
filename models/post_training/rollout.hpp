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

/// Generation of the answers of one step.
struct RolloutForecast {
  Seconds time;          ///< until the last answer is there
  Seconds half;          ///< until half of them are
  Seconds most;          ///< until 90 % of them are
  Seconds prefill;       ///< of it, prompts
  double answers = 0.0;  ///< generated
  double tokens = 0.0;   ///< of all answers
  double longest = 0.0;  ///< tokens of the longest answer
  double running = 0.0;  ///< answers of one replica under way, mean until the last one is there
  double first_running = 0.0;  ///< of one replica at the start
  double restarted = 0.0;      ///< answers whose cache was given up and computed again
  /// Tokens of answers per second while the engine is full: what a rollout without a longest answer
  /// to wait for yields.
  double steady_tokens_per_s = 0.0;
};

/// Every replica generates its share of the answers; one of them the longest of all. Answers start
/// in an order without regard to their length, as many as the cache and the engine's limit let,
/// and decode in step. Between two ends of answers steps have as many sequences, whose cache grows
/// evenly. models/post_training/README.md, "Rollouts".
/// @pre deployment_reasons(deployment) is empty, one longest answer fits; plan.prompts,
///   plan.answers >= 1; deployment.layout.replicas >= 1
[[nodiscard]] RolloutForecast rollout_forecast(const Deployment& deployment,
                                               const PostTrainingPlan& plan);

}  // namespace foretrain
