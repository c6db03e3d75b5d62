// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/cluster.hpp"
#include "models/post_training/post_training_plan.hpp"
#include "scenarios/fields/field_reader.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// What `post_training` says by itself; keys without effect and sections that it needs are
/// reported. @pre the section is written
[[nodiscard]] PostTrainingPlan post_training_of(const FieldValues& values,
                                                Diagnostics& diagnostics);

/// Takes the GPUs that generate out of `cluster`, which keeps those that train, and returns them:
/// whole hosts of the same fabric, or the first part of a single host. Without GPUs of its own for
/// generation both are the whole machine.
[[nodiscard]] Cluster split_generation(const FieldValues& values, Cluster& cluster,
                                       Diagnostics& diagnostics);

}  // namespace foretrain
