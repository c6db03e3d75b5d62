// SPDX-License-Identifier: Apache-2.0
#include "models/data_parallel.hpp"

#include "models/collective_cost.hpp"
#include "models/kernel_cost.hpp"
#include "models/memory_parameters.hpp"
#include "models/require.hpp"

namespace foretrain {
namespace {

constexpr double weight_bytes = 2.0;

double gradient_bytes(const Job& job) {
  return job.communication.gradient_dtype == Precision::fp32 ? 4.0 : 2.0;
}

/// Communication `time` that runs beside a compute `window`: what the window cannot hide, never
/// less than the stack's floor, and the compute that it slows down.
Seconds exposed(Seconds time, Seconds window, bool overlapped, const StackTimes& stack) {
  if (!overlapped) return time;
  const Seconds uncovered = max(time - stack.data_window * window, stack.data_exposed * time);
  return uncovered + stack.data_slowdown * min(time, window);
}

struct ShardGroups {
  CommGroup shard;     ///< ranks over which optimizer states are spread
  CommGroup replicas;  ///< ranks that hold the same shard
};

ShardGroups shard_groups(const Job& job) {
  const Parallel& plan = job.parallel;
  const int gpus = job.cluster.host.gpus;
  const int stride = plan.tensor * plan.context;
  const int shard = plan.zero_group > 0 ? plan.zero_group : plan.data;
  return {comm_group(shard, stride, gpus), comm_group(plan.data / shard, stride * shard, gpus)};
}

Seconds tied_embedding_time(const Job& job, int stage, const CollectivePath& path) {
  const Parallel& plan = job.parallel;
  const bool end = stage == 0 || stage == plan.pipeline - 1;
  if (!job.model.tied_embeddings || plan.pipeline == 1 || !end) return Seconds{};
  const int stride = plan.tensor * plan.context * plan.data * (plan.pipeline - 1);
  const CommGroup group = comm_group(2, stride, job.cluster.host.gpus);
  const double shared = static_cast<double>(job.vocabulary()) * job.model.hidden / plan.tensor;
  return all_reduce_time(group, Bytes{gradient_bytes(job) * shared}, path);
}

}  // namespace

Seconds data_parallel_time(const Job& job, const StageLayout& layout, int stage,
                           const OverlapWindows& windows) {
  FORETRAIN_REQUIRE(job.parallel.zero <= 1);
  const CollectivePath path{job.cluster, job.device_profile, job.site};
  const Seconds tied = tied_embedding_time(job, stage, path);
  if (job.parallel.data == 1) return tied;

  const double parameters = rank_parameters(job, layout, stage).total();
  const Bytes gradients{gradient_bytes(job) * parameters};
  const Overlap& overlap = job.communication.overlap;
  const StackTimes& stack = job.stack.times;
  if (job.parallel.zero == 0) {
    const CommGroup all = comm_group(job.parallel.data, job.parallel.tensor * job.parallel.context,
                                     job.cluster.host.gpus);
    return tied + exposed(all_reduce_time(all, gradients, path), windows.backward,
                          overlap.gradients, stack);
  }
  const ShardGroups groups = shard_groups(job);
  const Seconds reduce = reduce_scatter_time(groups.shard, gradients, path) +
                         all_reduce_time(groups.replicas, gradients / groups.shard.ranks, path);
  const Seconds gather = all_gather_time(groups.shard, Bytes{weight_bytes * parameters}, path);
  return tied + exposed(reduce, windows.backward, overlap.gradients, stack) +
         exposed(gather, windows.forward, overlap.parameters, stack);
}

Seconds optimizer_time(const Job& job, const StageLayout& layout, int stage) {
  const KernelDevice device{job.cluster.host.device, job.device_profile, job.training.precision};
  const MemoryRules& rules = job.stack.memory;
  const int shard = job.parallel.zero_group > 0 ? job.parallel.zero_group : job.parallel.data;
  const double owned =
      rank_parameters(job, layout, stage).total() / (job.parallel.zero >= 1 ? shard : 1);
  const double states = job.training.optimizer == OptimizerKind::sgd ? 4.0 : rules.optimizer_bytes;
  const double per_parameter = 2.0 * states + 2.0 * gradient_bytes(job) + weight_bytes;
  return streaming_time(Bytes{per_parameter * owned}, device);
}

}  // namespace foretrain
