// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/base/quantity.hpp"
#include "models/inputs/job.hpp"
#include "models/post_training/post_training_plan.hpp"
#include "models/post_training/rollout.hpp"
#include "models/serving/deployment.hpp"

namespace foretrain {

/// The policy's training on the answers of a step, as a job: rows of prompts with their answers,
/// the loss of a policy gradient. Training::global_batch of `actor` counts answers per update; that
/// of the result counts rows, as many as they fill, rounded up to whole micro-batches on every
/// replica. Rows are as long as the longest answer where the layout pads to a fixed length.
[[nodiscard]] Job policy_job(const Job& actor, const PostTrainingPlan& plan);

/// Updates of a step: answers over those of an update, times epochs.
[[nodiscard]] int policy_updates(const Job& actor, const PostTrainingPlan& plan);

/// One forward pass of all answers of a step through the job's layout: log-probabilities, values or
/// rewards. Micro-batches follow each other through the pipeline, gathers of sharded weights as in
/// training. @pre broken_rules(job) and not_modelled(job) are empty; job is a policy_job()
[[nodiscard]] Seconds scoring_time(const Job& job, int updates_per_epoch);

/// What one step of post-training follows from. `policy` trains on its own part of the machine;
/// its Training::global_batch counts answers per update. `rollout` has its replicas.
struct PostTrainingSetup {
  PostTrainingPlan plan;
  Job policy;
  Deployment rollout;
};

/// Times of a step by role, each as if it were alone.
struct PostTrainingParts {
  Seconds turn;  ///< colocated: engine and trainer change places
  Seconds generation;
  Seconds reward;
  Seconds log_probs;  ///< of the policy, before its update
  Seconds reference;  ///< log-probabilities of the frozen copy
  Seconds values;     ///< of the critic
  Seconds training;
  Seconds critic;  ///< its training
  Seconds sync;    ///< new weights into the engine
  Seconds loop;    ///< data, advantages, logging
};

/// A row of the timeline: what it is called, and when one step's part lies.
struct PostTrainingRow {
  const char* name;
  Seconds PostTrainingParts::*time;
  bool on_trainer;  ///< of separate GPUs, the trainer's
};
inline constexpr std::array post_training_rows{
    PostTrainingRow{"engine-trainer switch", &PostTrainingParts::turn, false},
    PostTrainingRow{"generation", &PostTrainingParts::generation, false},
    PostTrainingRow{"rewards", &PostTrainingParts::reward, true},
    PostTrainingRow{"log-probabilities", &PostTrainingParts::log_probs, true},
    PostTrainingRow{"reference", &PostTrainingParts::reference, true},
    PostTrainingRow{"values of the critic", &PostTrainingParts::values, true},
    PostTrainingRow{"training of the policy", &PostTrainingParts::training, true},
    PostTrainingRow{"training of the critic", &PostTrainingParts::critic, true},
    PostTrainingRow{"weight synchronisation", &PostTrainingParts::sync, true},
    PostTrainingRow{"controller", &PostTrainingParts::loop, true}};
static_assert(sizeof(PostTrainingParts) == post_training_rows.size() * sizeof(Seconds));

/// Of a time, with 10th and 90th percentile.
struct BandedTime {
  Seconds time;
  Seconds low;
  Seconds high;
};

struct PostTrainingForecast {
  std::vector<Infeasible> reasons;  ///< then nothing else but memory may be known
  PostTrainingParts parts;
  BandedTime step;
  BandedTime generation;
  BandedTime training;  ///< of policy and critic
  RolloutForecast rollout;
  Prediction policy;        ///< of one update
  int updates = 1;          ///< of a step
  Seconds generation_idle;  ///< separate: generation waits for the trainer
  Seconds training_idle;    ///< the trainer waits for answers
  double samples_per_s = 0.0;
  double tokens_per_s = 0.0;  ///< prompts and answers that are trained on
  double gpus = 0.0;
  Bytes sleeping;  ///< host memory per GPU for states of the trainer that rest
  std::vector<Warning> warnings;

  /// Generation and training at the same time.
  [[nodiscard]] Seconds learning() const;
};

/// Equations: models/post_training/README.md, "A step".
[[nodiscard]] PostTrainingForecast post_training_step(const PostTrainingSetup& setup);

}  // namespace foretrain
