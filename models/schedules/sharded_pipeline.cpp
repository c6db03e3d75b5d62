// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/sharded_pipeline.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "models/schedules/registry.hpp"

namespace foretrain {
namespace {

/// Stacks with FSDP's shards whose frameworks do not run PyTorch's pipelining.
struct OtherPipelines {
  std::string_view stack;
  std::string_view why;
};

constexpr auto other_pipelines = std::to_array<OtherPipelines>(
    {{"composer", "it has no pipelines"},
     {"jax", "XLA places the exchanges of its pipelines itself, and no such run was measured"}});

bool asks_for_it(const Parallel& plan) { return plan.zero >= 2 && plan.pipeline > 1; }

/// fp32 shards and 16-bit copies that are gathered: FSDP.
bool is_fsdp(const StackProfile& stack) { return stack.memory.compute_weight_bytes > 0.0; }

}  // namespace

bool scatters_every_pass(const Job& job) {
  return job.parallel.zero >= 2 && job.parallel.pipeline == 1;
}

double gathering_forwards(const Job& job) {
  if (!asks_for_it(job.parallel)) return job.fine_tuning.has_reference() ? 2.0 : 1.0;
  const int all = std::max(1, job.microbatches());
  return static_cast<double>(std::min(all, job.parallel.pipeline)) / all;
}

std::string no_sharded_pipeline(const Job& job) {
  if (!asks_for_it(job.parallel)) return "";
  const StackProfile& stack = job.stack;
  for (const OtherPipelines& other : other_pipelines)
    if (other.stack == stack.name)
      return fmt::format("sharded gradients under a pipeline are not modelled for stack {}: {}",
                         stack.name, other.why);
  if (is_fsdp(stack) && traits_of(job.parallel.schedule).in_pytorch) return "";
  if (is_fsdp(stack))
    return fmt::format(
        "FSDP under schedule {} is not modelled: PyTorch's pipelining has no such "
        "schedule",
        name_of(job.parallel.schedule));
  return fmt::format(
      "stack {} shards gradients (parallel.zero {}) without a pipeline only: DeepSpeed's pipeline "
      "engine refuses it, and Megatron-FSDP runs beside tensor, context and expert parallelism",
      stack.name, job.parallel.zero);
}

}  // namespace foretrain
