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

void refuse_for_torchtitan(const Job& job, ExportBook& book) {
  const Parallel& parallel = job.parallel;
  book.refuse_if(parallel.zero == 1, "parallel.zero: 1; FSDP shards gradients and weights as well");
  book.refuse_if(parallel.zero == 0 && parallel.context > 1,
                 "context parallelism without sharding");
  book.refuse_if(parallel.zero == 2 && parallel.zero_group > 0,
                 "hybrid sharding that keeps weights");
  const bool chunks =
      parallel.schedule == ScheduleKind::interleaved || parallel.schedule == ScheduleKind::zb_v;
  book.refuse_if(parallel.virtual_stages != (chunks ? 2 : 1),
                 "parallel.virtual_stages other than 2 with a schedule of chunks");
  // torchao takes the scale of the tensor at hand.
  const Training& training = job.training;
  if (training.precision == Precision::fp8 && training.fp8_scaling != Fp8Scaling::current)
    book.refuse(
        fmt::format("training.fp8_scaling: {} (current is)", name_of(training.fp8_scaling)));
  const bool compiled = job.stack.name == "fsdp2-compile";
  if (!compiled && job.stack.name != "fsdp2")
    book.leave_out("the software, " + job.stack.name + "; torchtitan runs eager here");
}

void add_recompute(const Job& job, ExportBook& book, DialectWords& words) {
  const Recompute& recompute = job.memory.recompute;
  const auto mode = [&](const char* word) {
    words.push_back({"activation_checkpoint.mode", word, true});
  };
  const auto option = [&](std::string word) {
    mode("selective");
    words.push_back({"activation_checkpoint.selective_ac_option", std::move(word), true});
  };
  book.refuse_if(recompute.kind == RecomputeKind::unknown, "memory.recompute: unknown");
  if (recompute.kind == RecomputeKind::none) return mode("none");
  if (recompute.kind == RecomputeKind::selective) {
    book.refuse_if(!recompute.every_second_matmul,
                   "selective recomputation other than every_second_matmul");
    return option("op");
  }
  const int per_stage = job.model.layers / job.parallel.pipeline;
  book.refuse_if(recompute.distribute_saved, "recompute.distribute_saved");
  if (recompute.method == RecomputeMethod::uniform) {
    book.refuse_if(recompute.layers != 1, "recomputation of several layers at once");
    return mode("full");
  }
  const int every = recompute.layers > 0 ? per_stage / recompute.layers : 0;
  if (every < 1 || (per_stage + every - 1) / every != recompute.layers)
    book.refuse("recomputation of some layers that are not one in so many");
  if (every <= 1) return mode("full");
  option(std::to_string(every));
}

void add_replicas(const Parallel& parallel, DialectWords& words) {
  const int shards = parallel.zero == 0        ? 1
                     : parallel.zero_group > 0 ? parallel.zero_group
                                               : parallel.data;
  words.push_back(
      {"parallelism.data_parallel_replicate_degree", std::to_string(parallel.data / shards)});
  words.push_back({"parallelism.data_parallel_shard_degree", std::to_string(shards)});
  if (parallel.zero >= 2)
    words.push_back(
        {"parallelism.fsdp_reshard_after_forward", parallel.zero == 3 ? "always" : "never", true});
}

void add_batch(const Job& job, DialectWords& words) {
  const Training& training = job.training;
  // With pipelining, a local batch holds the micro-batches of a step; without, one of them.
  const bool stages = job.parallel.pipeline > 1;
  const int local = stages ? training.global_batch / job.parallel.data : training.micro_batch;
  words.push_back({"training.local_batch_size", std::to_string(local)});
  words.push_back({"training.global_batch_size", std::to_string(training.global_batch)});
  if (const auto steps = training_steps(training))
    words.push_back({"training.steps", std::to_string(*steps)});
  if (stages)
    words.push_back(
        {"parallelism.pipeline_parallel_microbatch_size", std::to_string(training.micro_batch)});
}

}  // namespace

Exported export_torchtitan(const Scenario& scenario) {
  const Job& job = scenario.job;
  ExportBook book("torchtitan");
  leave_out_machine(job, book);
  refuse_for_torchtitan(job, book);
  const Flavor* flavor = flavor_of(job.model.name);
  if (flavor == nullptr)
    book.refuse("the model " + job.model.name + ": torchtitan has no flavor of these sizes");
  else
    book.leave_out(
        fmt::format("the model's sizes, rotary angles and epsilon: they are those of "
                    "torchtitan's flavor {} {}",
                    flavor->name, flavor->flavor));
  DialectWords words;
  if (flavor != nullptr)
    words = {{"model.name", std::string(flavor->name), true},
             {"model.flavor", std::string(flavor->flavor), true}};
  if (job.training.precision == Precision::fp8)
    words.push_back({"model.converters", "[\"float8\"]"});
  if (job.memory.fp8_parameters) words.push_back({"float8.enable_fsdp_float8_all_gather", "true"});
  book.say(*dialect_of(Framework::torchtitan), job,
           {"training.micro_batch", "training.global_batch", "training.tokens",
            "training.fp8_scaling", "parallel.zero", "parallel.zero_group",
            "parallel.virtual_stages", "memory.recompute", "memory.fp8_parameters"},
           words);
  add_batch(job, words);
  add_replicas(job.parallel, words);
  add_recompute(job, book, words);
  if (job.stack.name == "fsdp2-compile") words.push_back({"compile.enable", "true"});
  book.leave_out("job, data, tokenizer, checkpoints and the learning rate");
  book.check();
  return {export_comments(scenario, book) + as_toml(words), book.left_out()};
}

}  // namespace foretrain
