// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/grid/process_grid.hpp"
#include "models/inputs/recipe.hpp"
#include "planner/exchange/exports.hpp"

namespace foretrain {
namespace {

using Json = nlohmann::ordered_json;

/// What stands in no JSON: kernels, dropout, experts and stages are the training script's.
void leave_out_code(const Job& job, ExportBook& book) {
  SaidKeys said{"training.sequence",
                "training.micro_batch",
                "training.global_batch",
                "training.tokens",
                "training.precision",
                "training.optimizer",
                "parallel.tensor",
                "parallel.pipeline",
                "parallel.context",
                "parallel.zero",
                "parallel.zero_group",
                "memory.offload",
                "memory.offload_share",
                "memory.recompute",
                "communication.bucket",
                "communication.gradient_dtype",
                "communication.overlap.gradients"};
  // One switch is for both overlaps.
  const Overlap& overlap = job.communication.overlap;
  if (overlap.parameters == overlap.gradients) said.insert("communication.overlap.parameters");
  if (const auto keys = unsaid_keys(job, said); !keys.empty())
    book.leave_out(fmt::format("what the training script decides: {}", fmt::join(keys, ", ")));
}

void judge_plan(const Job& job, ExportBook& book) {
  const Parallel& parallel = job.parallel;
  const Precision precision = job.training.precision;
  book.refuse_if(parallel.order != data_in_stage,
                 "parallel.order other than replicas of a stage side by side");
  book.refuse_if(quantised(precision) || precision == Precision::tf32,
                 "precision other than bf16, fp16 and fp32");
  book.refuse_if(precision == Precision::bf16 && parallel.zero == 0,
                 "bf16 with whole optimizer states; its bf16 optimizer shards them");
  book.refuse_if(parallel.zero >= 2 && parallel.pipeline > 1,
                 "sharded gradients (parallel.zero 2 or 3) under a pipeline, which its pipeline "
                 "engine refuses");
  book.refuse_if(job.memory.offload == OffloadKind::optimizer_and_parameters && parallel.zero != 3,
                 "offloaded parameters without parallel.zero: 3");
  book.refuse_if(job.training.optimizer != OptimizerKind::adamw &&
                     job.training.optimizer != OptimizerKind::sgd,
                 "optimizers other than AdamW and SGD");
  book.refuse_if(job.memory.offload == OffloadKind::paged, "memory.offload: paged");
  book.refuse_if(job.training.optimizer_in_backward, "training.optimizer_in_backward");
  book.refuse_if(job.training.projection.projects(), "training.gradient_projection");
  if (ProcessGrid{parallel}.replica_ranks() > 1)
    book.leave_out(
        fmt::format("tensor {}, pipeline {} and context {}, which the training script "
                    "decides",
                    parallel.tensor, parallel.pipeline, parallel.context));
  if (job.memory.recompute.kind != RecomputeKind::none)
    book.leave_out("recomputation, which the model's code decides");
  book.leave_out("the model, " + job.model.name +
                 fmt::format(", and its sequence of {} tokens", job.training.sequence));
  book.leave_out("the software, " + job.stack.name);
}

Json zero_section(const Job& job) {
  const Parallel& parallel = job.parallel;
  const double width = job.communication.gradient_dtype == Precision::fp32 ? 4.0 : 2.0;
  Json zero{
      {"stage", parallel.zero},
      {"overlap_comm", job.communication.overlap.gradients},
      {"reduce_bucket_size", static_cast<long long>(job.communication.bucket.value() / width)}};
  if (parallel.zero_group > 0) zero["mics_shard_size"] = parallel.zero_group;
  const Json host{{"device", "cpu"}, {"pin_memory", true}};
  if (job.memory.offload != OffloadKind::none) zero["offload_optimizer"] = host;
  if (job.memory.offload != OffloadKind::none && job.memory.offload_share < 1.0)
    zero["offload_optimizer"]["ratio"] = job.memory.offload_share;
  if (job.memory.offload == OffloadKind::optimizer_and_parameters) zero["offload_param"] = host;
  return zero;
}

}  // namespace

Exported export_deepspeed(const Scenario& scenario) {
  const Job& job = scenario.job;
  ExportBook book("DeepSpeed");
  leave_out_machine(job, book);
  refuse_fine_tuning(job, book);
  judge_plan(job, book);
  refuse_backend(job, book);
  leave_out_code(job, book);
  book.check();
  const Training& training = job.training;
  Json json{{"train_batch_size", training.global_batch},
            {"train_micro_batch_size_per_gpu", training.micro_batch},
            {"gradient_accumulation_steps", job.microbatches()}};
  if (training.precision == Precision::bf16) json["bf16"] = {{"enabled", true}};
  if (training.precision == Precision::fp16) json["fp16"] = {{"enabled", true}};
  const bool wide = job.communication.gradient_dtype == Precision::fp32;
  json["communication_data_type"] = wide ? "fp32" : std::string(name_of(training.precision));
  json["zero_optimization"] = zero_section(job);
  // The learning rate is the training script's: DeepSpeed would take these for it.
  json["zero_allow_untested_optimizer"] = true;
  if (training.optimizer == OptimizerKind::sgd) json["optimizer"] = {{"type", "SGD"}};
  if (job.memory.recompute.distribute_saved)
    json["activation_checkpointing"] = {{"partition_activations", true}};
  return {json.dump(2) + "\n", book.left_out()};
}

namespace {

/// What accelerate's launch says of a plan.
SaidKeys said_by_launch(const Job& job) {
  SaidKeys said{"parallel.tensor", "parallel.context", "parallel.zero", "parallel.zero_group",
                "memory.offload"};
  const ContextExchange exchange = job.communication.context_exchange;
  if (job.parallel.context == 1 || exchange == ContextExchange::ring ||
      exchange == ContextExchange::all_gather)
    said.insert("communication.context_exchange");
  return said;
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
  if (const auto keys = unsaid_keys(job, said_by_launch(job)); !keys.empty())
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
