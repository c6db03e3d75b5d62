// SPDX-License-Identifier: Apache-2.0
#include "models/data/state_shards.hpp"

#include <algorithm>

#include "models/grid/process_grid.hpp"

namespace foretrain {

ShardGroups dense_groups(const Job& job) {
  const Parallel& plan = job.parallel;
  const Packing packing = job.cluster.packing();
  const Group holders = ProcessGrid{plan}.group(GroupKind::holders);
  const int ranks = holders.ranks();
  const int shard = plan.zero_group > 0 ? std::min(plan.zero_group, ranks) : ranks;
  return {holders.part(shard).on_hosts(packing), holders.copies(shard).on_hosts(packing)};
}

ShardGroups expert_groups(const Job& job) {
  const Packing packing = job.cluster.packing();
  const ProcessGrid grid{job.parallel};
  const Group holders = grid.group(GroupKind::expert_data);
  const int all = grid.group(GroupKind::holders).ranks();
  const int group = job.parallel.zero_group > 0 ? std::min(job.parallel.zero_group, all) : all;
  const int copies = std::max(1, all / group);
  if (copies == 1) return {holders.on_hosts(packing), CommGroup{}};
  const int shard = std::max(1, holders.ranks() / copies);
  return {holders.part(shard).on_hosts(packing), holders.copies(shard).on_hosts(packing)};
}

double gradient_bytes(const Job& job) {
  const bool wide = job.communication.gradient_dtype == Precision::fp32;
  return wide && !job.training.narrow_weights() ? 4.0 : 2.0;
}

}  // namespace foretrain
