// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "models/data/single_process.hpp"
#include "models/memory/internal/memory_context.hpp"
#include "models/rules/internal/reasons.hpp"

namespace foretrain {
namespace {

constexpr std::string_view who = "torch.nn.DataParallel (parallel.processes: per-host)";

void refuse_degrees(const Job& job, Reasons& reasons) {
  const Parallel& plan = job.parallel;
  if (job.cluster.hosts > 1)
    break_rule(reasons, "one-process-one-host", "cluster.hosts",
               fmt::format("{} is one process, whose threads reach the GPUs of one host, not of "
                           "{}",
                           who, job.cluster.hosts),
               "cluster.hosts: 1, or parallel.processes: per-gpu");
  for (const auto& [key, degree] :
       {std::pair{"parallel.tensor", plan.tensor}, std::pair{"parallel.context", plan.context},
        std::pair{"parallel.pipeline", plan.pipeline}, std::pair{"parallel.expert", plan.expert}})
    if (degree > 1)
      break_rule(reasons, "replicas-are-whole", key,
                 fmt::format("{} copies the whole model to every GPU and cannot split it over {}",
                             who, degree),
                 fmt::format("{}: 1, or parallel.processes: per-gpu", key));
  if (plan.zero > 0)
    break_rule(reasons, "replicas-are-whole", "parallel.zero",
               fmt::format("{} shards nothing: weights, gradients and optimizer states are whole "
                           "on GPU 0",
                           who),
               "parallel.zero: 0, or parallel.processes: per-gpu");
}

void refuse_software(const Job& job, Reasons& reasons) {
  if (!job.stack.eager_torch)
    break_rule(reasons, "eager-torch", "stack",
               fmt::format("{} wraps modules of eager PyTorch, not {} ({})", who, job.stack.name,
                           job.stack.title),
               "stack: fsdp2 (its kernels are those of eager PyTorch)");
  if (job.communication.backend != Backend::nccl)
    break_rule(reasons, "replicas-use-nccl", "communication.backend",
               fmt::format("{} moves weights and gradients with NCCL, not {}", who,
                           name_of(job.communication.backend)),
               "communication.backend: nccl");
  const bool half = !full_precision(job.communication.gradient_dtype);
  if (half && job.stack.memory.weight_bytes == 4.0)
    break_rule(reasons, "gradients-like-weights", "communication.gradient_dtype",
               fmt::format("{} sums gradients in the type of the weights, fp32 in stack {}", who,
                           job.stack.name),
               "communication.gradient_dtype: fp32");
  if (job.memory.fused_loss && job.parallel.gather == GatherKind::outputs)
    break_rule(reasons, "logits-are-gathered", "memory.fused_loss",
               "a fused loss never makes the logits that parallel.gather: outputs brings to GPU "
               "0",
               "parallel.gather: loss, or memory.fused_loss: false");
}

}  // namespace

std::vector<Infeasible> single_process_rules(const Job& job) {
  Reasons reasons;
  if (job.parallel.processes != ProcessKind::per_host) return reasons;
  refuse_degrees(job, reasons);
  refuse_software(job, reasons);
  return reasons;
}

}  // namespace foretrain
