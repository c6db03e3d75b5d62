// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "models/inputs/recipe.hpp"
#include "planner/exchange/exports.hpp"

namespace foretrain {
namespace {

/// What `accelerate launch` decides of a job, taken out of it.
Job without_launch(const Job& job) {
  Job rest = job;
  const Job usual;
  rest.parallel.tensor = rest.parallel.context = rest.parallel.data = 1;
  rest.parallel.zero = rest.parallel.zero_group = 0;
  rest.parallel.framework = usual.parallel.framework;
  rest.memory.offload = usual.memory.offload;
  if (job.parallel.context == 1 || job.communication.context_exchange == ContextExchange::ring ||
      job.communication.context_exchange == ContextExchange::all_gather)
    rest.communication.context_exchange = usual.communication.context_exchange;
  return rest;
}

void refuse_for_accelerate(const Job& job, ExportBook& book) {
  const Parallel& parallel = job.parallel;
  book.refuse_if(parallel.pipeline > 1, "parallel.pipeline");
  book.refuse_if(parallel.expert > 1, "parallel.expert");
  book.refuse_if(parallel.zero == 1,
                 "parallel.zero: 1, which takes a file of DeepSpeed: foretrain export deepspeed");
  book.refuse_if(job.memory.offload == OffloadKind::optimizer,
                 "memory.offload: optimizer, which takes a file of DeepSpeed: foretrain export "
                 "deepspeed");
  book.refuse_if(host_updates(job.memory.offload) && parallel.zero < 2,
                 "memory.offload without shards");
  const bool split = parallel.tensor > 1 || parallel.context > 1;
  book.refuse_if(split && parallel.zero == 0, "tensor or context ranks without shards");
  book.refuse_if(
      parallel.context > 1 && job.communication.context_exchange == ContextExchange::all_to_all,
      "communication.context_exchange: all-to-all");
}

std::string ranks_text(const Job& job) {
  const Parallel& parallel = job.parallel;
  const int shards = parallel.zero_group > 0 ? parallel.zero_group : parallel.data;
  if (parallel.tensor == 1 && parallel.context == 1 && shards == parallel.data) return {};
  std::string text = "parallelism_config:\n";
  const auto add = [&](const char* name, int ranks) {
    text += fmt::format("  parallelism_config_{}_size: {}\n", name, ranks);
  };
  add("dp_replicate", parallel.data / shards);
  add("dp_shard", shards);
  add("tp", parallel.tensor);
  add("cp", parallel.context);
  const bool ring = job.communication.context_exchange == ContextExchange::ring;
  if (parallel.context > 1)
    text +=
        fmt::format("  parallelism_config_cp_comm_strategy: {}\n", ring ? "alltoall" : "allgather");
  return text;
}

}  // namespace

Exported export_accelerate(const Scenario& scenario) {
  const Job& job = scenario.job;
  ExportBook book("accelerate");
  leave_out_machine(job, book);
  refuse_for_accelerate(job, book);
  const Precision precision = job.training.precision;
  book.refuse_if(quantised(precision), "precision other than bf16, fp16, tf32 and fp32");
  book.leave_out("the model, " + job.model.name + ", and the software, " + job.stack.name);
  if (const auto keys = key_differences(without_launch(job)); !keys.empty())
    book.leave_out(
        fmt::format("what the training script's arguments decide: {}", fmt::join(keys, ", ")));
  book.check();
  const int gpus = job.cluster.gpus();
  const bool shards = job.parallel.zero > 1;
  const bool half = precision == Precision::bf16 || precision == Precision::fp16;
  std::string text = export_comments(scenario, book);
  text += "compute_environment: LOCAL_MACHINE\n";
  text += fmt::format("distributed_type: {}\n", shards ? "FSDP" : gpus > 1 ? "MULTI_GPU" : "'NO'");
  text += fmt::format("mixed_precision: {}\nnum_machines: {}\nnum_processes: {}\n",
                      half ? name_of(precision) : "'no'", job.cluster.hosts, gpus);
  if (shards)
    text += fmt::format(
        "fsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
        "  fsdp_reshard_after_forward: {}\n  fsdp_offload_params: {}\n",
        job.parallel.zero == 3, job.memory.offload == OffloadKind::optimizer_and_parameters);
  return {text + ranks_text(job), book.left_out()};
}

}  // namespace foretrain
