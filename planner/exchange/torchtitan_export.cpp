// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "planner/exchange/exports.hpp"
#include "scenarios/imports/frameworks/importers.hpp"

namespace foretrain {
namespace {

struct Flavor {
  std::string_view name, flavor;
};

/// Flavours of torchtitan that the catalog holds; read back through torchtitan_model().
constexpr auto flavors = std::to_array<Flavor>({{"llama3", "8B"},
                                                {"llama3", "70B"},
                                                {"llama3", "405B"},
                                                {"llama3", "1B"},
                                                {"llama3", "3B"},
                                                {"deepseek_v3", "671B"},
                                                {"deepseek_v3", "16B"},
                                                {"qwen3", "0.6B"},
                                                {"qwen3", "1.7B"},
                                                {"qwen3", "4B"},
                                                {"qwen3", "8B"},
                                                {"qwen3", "14B"},
                                                {"qwen3", "32B"},
                                                {"qwen3", "30B-A3B"},
                                                {"qwen3", "235B-A22B"}});

const Flavor* flavor_of(const std::string& model) {
  for (const Flavor& flavor : flavors)
    if (torchtitan_model(std::string(flavor.name), std::string(flavor.flavor)) == model)
      return &flavor;
  return nullptr;
}

const char* schedule_of(const Parallel& parallel, ExportBook& book) {
  switch (parallel.schedule) {
    case ScheduleKind::gpipe:
      return "GPipe";
    case ScheduleKind::one_f_one_b:
      return "1F1B";
    case ScheduleKind::interleaved:
      book.refuse_if(parallel.virtual_stages != 2, "interleaving of other than 2 chunks");
      return "Interleaved1F1B";
    case ScheduleKind::zb_v:
      return "ZBVZeroBubble";
    default:
      book.refuse(fmt::format("schedule {}", name_of(parallel.schedule)));
      return "";
  }
}

void refuse_for_torchtitan(const Job& job, ExportBook& book) {
  const Parallel& parallel = job.parallel;
  book.refuse_if(parallel.order != data_in_stage,
                 "parallel.order other than replicas of a stage side by side");
  book.refuse_if(parallel.zero == 1, "parallel.zero: 1; FSDP shards gradients and weights as well");
  book.refuse_if(parallel.zero == 0 && parallel.context > 1,
                 "context parallelism without sharding");
  book.refuse_if(parallel.zero == 2 && parallel.zero_group > 0,
                 "hybrid sharding that keeps weights");
  book.refuse_if(parallel.tensor > 1 && !parallel.sequence, "tensor without sequence parallelism");
  book.refuse_if(!parallel.stage_layers.empty(), "parallel.stage_layers");
  book.refuse_if(parallel.prediction_stage.has_value(), "parallel.prediction_stage");
  book.refuse_if(job.memory.offload == OffloadKind::optimizer, "offloading the optimizer alone");
  book.refuse_if(job.memory.offload == OffloadKind::paged, "memory.offload: paged");
  book.refuse_if(job.communication.gradient_dtype == Precision::fp16,
                 "communication.gradient_dtype: fp16");
  const Precision precision = job.training.precision;
  book.refuse_if(
      precision != Precision::bf16 && precision != Precision::fp8 && precision != Precision::fp32,
      "precision other than bf16, fp8 and fp32");
  const bool compiled = job.stack.name == "fsdp2-compile";
  if (!compiled && job.stack.name != "fsdp2")
    book.leave_out("the software, " + job.stack.name + "; torchtitan runs eager here");
  if (job.training.vocabulary_multiple != 1)
    book.leave_out("padding of the vocabulary; torchtitan pads nothing");
  if (job.communication.bucket != Communication{}.bucket)
    book.leave_out("the gradient bucket; FSDP gathers layer by layer");
  leave_out_overlap(job.communication.overlap, {.gradients = true, .parameters = true},
                    "torchtitan", book);
}

std::string recompute_text(const Job& job, ExportBook& book) {
  const Recompute& recompute = job.memory.recompute;
  const std::string head = "\n[activation_checkpoint]\n";
  if (recompute.kind == RecomputeKind::none) return head + "mode = \"none\"\n";
  if (recompute.kind == RecomputeKind::selective) {
    book.refuse_if(!recompute.every_second_matmul,
                   "selective recomputation other than every_second_matmul");
    return head + "mode = \"selective\"\nselective_ac_option = \"op\"\n";
  }
  const int per_stage = job.model.layers / job.parallel.pipeline;
  book.refuse_if(recompute.distribute_saved, "recompute.distribute_saved");
  if (recompute.method == RecomputeMethod::uniform) {
    book.refuse_if(recompute.layers != 1, "recomputation of several layers at once");
    return head + "mode = \"full\"\n";
  }
  const int every = recompute.layers > 0 ? per_stage / recompute.layers : 0;
  if (every < 1 || (per_stage + every - 1) / every != recompute.layers)
    book.refuse("recomputation of some layers that are not one in so many");
  if (every <= 1) return head + "mode = \"full\"\n";
  return head + fmt::format("mode = \"selective\"\nselective_ac_option = \"{}\"\n", every);
}

std::string degrees_text(const Job& job, ExportBook& book) {
  const Parallel& parallel = job.parallel;
  const int shards = parallel.zero == 0        ? 1
                     : parallel.zero_group > 0 ? parallel.zero_group
                                               : parallel.data;
  std::string text = fmt::format(
      "\n[parallelism]\ndata_parallel_replicate_degree = {}\ndata_parallel_shard_degree = {}\n"
      "tensor_parallel_degree = {}\nenable_async_tensor_parallel = {}\n"
      "pipeline_parallel_degree = {}\ncontext_parallel_degree = {}\n",
      parallel.data / shards, shards, parallel.tensor,
      job.communication.overlap.tensor && parallel.sequence, parallel.pipeline, parallel.context);
  if (parallel.zero >= 2)
    text += fmt::format("fsdp_reshard_after_forward = \"{}\"\n",
                        parallel.zero == 3 ? "always" : "never");
  if (parallel.pipeline > 1)
    text +=
        fmt::format("pipeline_parallel_schedule = \"{}\"\npipeline_parallel_microbatch_size = {}\n",
                    schedule_of(parallel, book), job.training.micro_batch);
  if (job.model.moe) {
    text += fmt::format("expert_parallel_degree = {}\n", parallel.expert);
    if (parallel.expert_tensor > 0)
      text += fmt::format("expert_tensor_parallel_degree = {}\n", parallel.expert_tensor);
  }
  return text;
}

std::string training_text(const Job& job) {
  const Training& training = job.training;
  // With pipelining, a local batch holds the micro-batches of a step; without, one of them.
  const int local =
      job.parallel.pipeline > 1 ? training.global_batch / job.parallel.data : training.micro_batch;
  std::string text =
      fmt::format("\n[training]\nlocal_batch_size = {}\nglobal_batch_size = {}\nseq_len = {}\n",
                  local, training.global_batch, training.sequence);
  if (const auto steps = training_steps(training)) text += fmt::format("steps = {}\n", *steps);
  if (training.precision == Precision::fp32) text += "mixed_precision_param = \"float32\"\n";
  if (job.communication.gradient_dtype == Precision::bf16)
    text += "mixed_precision_reduce = \"bfloat16\"\n";
  if (job.memory.offload == OffloadKind::optimizer_and_parameters)
    text += "enable_cpu_offload = true\n";
  return text;
}

}  // namespace

Exported export_torchtitan(const Scenario& scenario) {
  const Job& job = scenario.job;
  ExportBook book("torchtitan");
  leave_out_machine(job, book);
  refuse_fine_tuning(job, book);
  refuse_fine_control(job, book);
  refuse_for_torchtitan(job, book);
  const Flavor* flavor = flavor_of(job.model.name);
  if (flavor == nullptr)
    book.refuse("the model " + job.model.name + ": torchtitan has no flavor of these sizes");
  else
    book.leave_out(
        fmt::format("the model's sizes, rotary angles and epsilon: they are those of "
                    "torchtitan's flavor {} {}",
                    flavor->name, flavor->flavor));
  const std::string body = training_text(job) + degrees_text(job, book) + recompute_text(job, book);
  book.leave_out("job, data, tokenizer, checkpoints and the learning rate");
  book.check();
  std::string text =
      export_comments(scenario, book) +
      fmt::format("[model]\nname = \"{}\"\nflavor = \"{}\"\n", flavor->name, flavor->flavor);
  if (job.training.precision == Precision::fp8) text += "converters = [\"float8\"]\n";
  if (job.memory.fp8_parameters) text += "\n[float8]\nenable_fsdp_float8_all_gather = true\n";
  text += "\n[optimizer]\nname = \"AdamW\"\n" + body;
  if (job.stack.name == "fsdp2-compile") text += "\n[compile]\nenable = true\n";
  return {std::move(text), book.left_out()};
}

}  // namespace foretrain
