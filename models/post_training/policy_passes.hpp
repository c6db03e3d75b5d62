// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/quantity.hpp"
#include "models/inputs/job.hpp"
#include "models/post_training/post_training_plan.hpp"

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

}  // namespace foretrain
