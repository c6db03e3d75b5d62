// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/collectives/collective_cost.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Ranks over which states are spread, and ranks that hold the same shard.
struct ShardGroups {
  CommGroup shard;
  CommGroup replicas;
};

/// Replicas of everything but the routed experts.
[[nodiscard]] ShardGroups dense_groups(const Job& job);
/// Ranks that hold the same routed experts.
[[nodiscard]] ShardGroups expert_groups(const Job& job);

/// Bytes of a gradient on its way to its sum.
[[nodiscard]] double gradient_bytes(const Job& job);

}  // namespace foretrain
