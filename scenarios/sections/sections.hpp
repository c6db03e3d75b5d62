// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/inputs/cluster.hpp"
#include "models/inputs/fine_tuning.hpp"
#include "models/inputs/job.hpp"
#include "models/inputs/operations.hpp"
#include "models/inputs/simulation.hpp"
#include "models/post_training/post_training_plan.hpp"
#include "models/serving/serving_plan.hpp"
#include "scenarios/fields/key_rows.hpp"

namespace foretrain {

// The sections of a scenario, each in the file of its name: one row per key reads, checks, writes
// and documents it.

/// Host, preset, domain and switch radix are read with the catalog; whatever sizes a kind of fabric
/// does not look at are read as well.
[[nodiscard]] const BoundTable<Cluster>& cluster_keys();
/// "0-2x4": switches 0 and 2, joined by four cables. Nothing where it is not that.
[[nodiscard]] std::optional<SwitchPair> switch_pair_in(const std::string& text);

/// What is not in it, a job has and a scenario cannot say: `vocabulary`.
[[nodiscard]] const BoundTable<Parallel>& parallel_keys();

/// What is not in it, a job has and a scenario cannot say: gradients that are not copied, the
/// capacity of experts.
[[nodiscard]] const BoundTable<Training>& training_keys();

[[nodiscard]] const BoundTable<FineTuning>& fine_tuning_keys();

[[nodiscard]] const BoundTable<MemoryOptions>& memory_keys();

/// Of the whole job, because the transport is written where it is not its network's.
[[nodiscard]] const BoundTable<Job>& communication_keys();

[[nodiscard]] const BoundTable<Operations>& operations_keys();
/// Its part about what goes on without interruptions: checkpoints, evaluation, input, money and
/// power.
[[nodiscard]] KeyRows operations_upkeep_keys();

[[nodiscard]] const BoundTable<Simulation>& simulation_keys();

/// A list, one line per limit.
[[nodiscard]] const BoundTable<Job>& budget_keys();
[[nodiscard]] const BoundTable<Job>& measured_keys();

/// A scenario has it in place of `training`, or beside it.
[[nodiscard]] const BoundTable<ServingPlan>& serving_keys();
[[nodiscard]] const BoundTable<PostTrainingPlan>& post_training_keys();

}  // namespace foretrain
