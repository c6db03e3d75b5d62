// SPDX-License-Identifier: Apache-2.0
// FSDP and DeepSpeed under the Trainer: every key that shards, offloads or recomputes is read.
#include <catch2/catch.hpp>

#include <utility>

#include "scenarios/imports/frameworks/frameworks.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using test::has;

constexpr const char* trainer_arguments =
    "model_name_or_path: meta-llama/Llama-2-7b-hf\nper_device_train_batch_size: 2\n"
    "gradient_accumulation_steps: 4\nbf16: true\ngradient_checkpointing: true\nmax_length: 4096\n";
constexpr const char* axolotl_arguments =
    "base_model: meta-llama/Llama-2-7b-hf\nsequence_len: 4096\nmicro_batch_size: 1\n";
constexpr const char* deepspeed_json =
    R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"},
        "reduce_bucket_size": "auto"}, "bf16": {"enabled": "auto"},
        "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto",
        "train_batch_size": "auto"})";

ImportedScenario sharded_import(Framework framework, const std::string& text,
                                PlanImportOptions options = {}, int gpus = 16,
                                const std::string& name = "args.yaml") {
  options.gpus = gpus;
  return import_framework(framework, text, name, options);
}

Job sharded_job(Framework framework, const std::string& text, int gpus = 16) {
  return sharded_import(framework, text, {}, gpus).scenario.job;
}

std::string sharding_refusal(Framework framework, const std::string& text,
                             PlanImportOptions options = {},
                             const std::string& name = "args.yaml") {
  try {
    (void)sharded_import(framework, text, std::move(options), 16, name);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

Job fsdp(const std::string& keys, int gpus = 16) {
  return sharded_job(
      Framework::transformers,
      std::string(trainer_arguments) + "fsdp: full_shard auto_wrap\nfsdp_config: {" + keys + "}\n",
      gpus);
}

PlanImportOptions beside(std::vector<std::pair<std::string, std::string>> files) {
  PlanImportOptions options;
  options.beside = std::move(files);
  return options;
}

}  // namespace

TEST_CASE("keys of fsdp_config that shard, offload or recompute are read",
          "[scenarios][fine-tuning]") {
  for (const std::string start : {"", "fsdp_"}) {
    CHECK(fsdp(start + "offload_params: true").memory.offload ==
          OffloadKind::optimizer_and_parameters);
    CHECK(fsdp(start + "offload_params: false").memory.offload == OffloadKind::none);
    CHECK(fsdp(start + "reshard_after_forward: false, " + start + "version: 2").parallel.zero == 2);
    CHECK(fsdp(start + "reshard_after_forward: true").parallel.zero == 3);
    CHECK(fsdp(start + "reshard_after_forward: SHARD_GRAD_OP").parallel.zero == 2);
  }
  const std::string plain = "base_model: meta-llama/Llama-2-7b-hf\nfsdp_version: 2\n";
  CHECK(sharded_job(Framework::axolotl, plain).memory.recompute.kind == RecomputeKind::none);
  for (const char* key : {"activation_checkpointing", "fsdp_activation_checkpointing"})
    CHECK(sharded_job(Framework::axolotl, plain + "fsdp_config: {" + key + ": true}\n")
              .memory.recompute.kind == RecomputeKind::full);
  CHECK(sharded_job(Framework::transformers,
                    std::string(trainer_arguments) + "fsdp: full_shard offload auto_wrap\n")
            .memory.offload == OffloadKind::optimizer_and_parameters);
}

TEST_CASE("FSDP 2 without a strategy shards everything", "[scenarios][fine-tuning]") {
  CHECK(sharded_job(Framework::axolotl, std::string(axolotl_arguments) + "fsdp_version: 2\n")
            .parallel.zero == 3);
  const ImportedScenario guessed = sharded_import(
      Framework::transformers, std::string(trainer_arguments) + "fsdp_config: {fsdp_version: 2}\n");
  CHECK(guessed.scenario.job.parallel.zero == 3);
  CHECK(has(guessed.text, "fsdp_config is there"));
  CHECK(has(sharding_refusal(Framework::transformers, std::string(trainer_arguments) +
                                                          "fsdp: shard_grad_op\n"
                                                          "fsdp_config: {version: 2}\n"),
            "reshard_after_forward"));
}

TEST_CASE("strategies of FSDP are read by name and number", "[scenarios][fine-tuning]") {
  const auto with = [](const std::string& strategy) {
    return sharded_job(Framework::transformers, std::string(trainer_arguments) +
                                                    "distributed_type: FSDP\nfsdp_config: "
                                                    "{fsdp_sharding_strategy: " +
                                                    strategy + "}\n");
  };
  CHECK(with("FULL_SHARD").parallel.zero == 3);
  CHECK(with("1").parallel.zero == 3);
  CHECK(with("SHARD_GRAD_OP").parallel.zero == 2);
  CHECK(with("NO_SHARD").parallel.zero == 0);
  CHECK(with("HYBRID_SHARD").parallel.zero == 3);
  CHECK(with("HYBRID_SHARD").parallel.zero_group == 8);
  // The GPUs of a host hold half as many replicas of two context ranks.
  const Job rings = sharded_job(Framework::axolotl,
                                std::string(axolotl_arguments) +
                                    "context_parallel_size: 2\nfsdp: [hybrid_shard, auto_wrap]\n");
  CHECK(rings.parallel.context == 2);
  CHECK(rings.parallel.zero_group == 4);
  CHECK(with("HYBRID_SHARD_ZERO2").parallel.zero == 2);
  CHECK(with("HYBRID_SHARD_ZERO2").parallel.zero_group == 8);
  CHECK(has(sharding_refusal(Framework::transformers,
                             std::string(trainer_arguments) + "fsdp: half_shard\n"),
            "args.yaml:7:7: fsdp: 'half_shard' is no strategy"));
}

TEST_CASE("what FSDP does and is not modelled is refused, and unknown keys are",
          "[scenarios][fine-tuning]") {
  const auto says = [](const std::string& keys) {
    return sharding_refusal(
        Framework::transformers,
        std::string(trainer_arguments) + "fsdp: full_shard\nfsdp_config: {" + keys + "}\n");
  };
  CHECK(has(says("auto_wrap_policy: NO_WRAP"), "gathers the whole model at once"));
  CHECK(has(says("xla: true"), "fsdp_config.xla"));
  CHECK(has(says("transformer_layer_cls_to_wrap: LlamaMLP"), "no whole layers"));
  CHECK(has(says("ofload_params: true"), "is not known here"));
  CHECK(has(
      sharding_refusal(Framework::transformers,
                       std::string(trainer_arguments) +
                           "distributed_type: MULTI_GPU\nfsdp_config: {offload_params: true}\n"),
      "has no effect where distributed_type is multi_gpu"));
}

TEST_CASE("degrees of accelerate and Axolotl are read", "[scenarios][fine-tuning]") {
  const Job mixed = sharded_job(Framework::transformers,
                                std::string(trainer_arguments) +
                                    "distributed_type: FSDP\nfsdp_config: {fsdp_version: 2}\n"
                                    "parallelism_config: {parallelism_config_tp_size: 2,\n"
                                    "  parallelism_config_dp_replicate_size: 2,\n"
                                    "  parallelism_config_dp_shard_size: 4}\n");
  CHECK(mixed.parallel.tensor == 2);
  CHECK(mixed.parallel.data == 8);
  CHECK(mixed.parallel.zero_group == 4);
  const auto sized = [](const std::string& sizes) {
    return sharded_job(Framework::transformers,
                       std::string(trainer_arguments) +
                           "distributed_type: FSDP\nfsdp_config: {fsdp_version: 2}\n"
                           "parallelism_config: {" +
                           sizes + "}\n");
  };
  const Job copies = sized("cp_size: 8, dp_replicate_size: 2, dp_shard_size: 1");
  CHECK(copies.parallel.zero == 3);  // over the ranks of a sequence
  CHECK(copies.parallel.zero_group == 1);
  CHECK(copies.communication.context_exchange == ContextExchange::all_gather);
  CHECK(sized("cp_size: 4, cp_comm_strategy: alltoall").communication.context_exchange ==
        ContextExchange::ring);
  CHECK(sized("sp_size: 4, dp_shard_size: 4").communication.context_exchange ==
        ContextExchange::all_to_all);
  const Job split = sharded_job(Framework::axolotl, std::string(axolotl_arguments) +
                                                        "fsdp_version: 2\ndp_shard_size: 8\n"
                                                        "context_parallel_size: 2\n");
  CHECK(split.parallel.context == 2);
  CHECK(split.communication.context_exchange == ContextExchange::ring);
  CHECK(split.training.global_batch == 8);
  const std::string wrong = sharding_refusal(
      Framework::axolotl, std::string(axolotl_arguments) + "fsdp_version: 2\ndp_shard_size: 3\n");
  CHECK(has(wrong, "args.yaml:5:16: dp_shard_size"));
  CHECK(has(sharding_refusal(Framework::axolotl,
                             std::string(axolotl_arguments) +
                                 "tensor_parallel_size: 99999\ndp_shard_size: 99999\n"
                                 "dp_replicate_size: 99999\ncontext_parallel_size: 1024\n"),
            "more than 1,000,000 GPUs"));
  CHECK(sharded_job(Framework::swift, "model: Qwen/Qwen3-8B\nsequence_parallel_size: 4\n")
            .communication.context_exchange == ContextExchange::all_to_all);
}

TEST_CASE("arguments and DeepSpeed's JSON are one configuration", "[scenarios][fine-tuning]") {
  const ImportedScenario both = sharded_import(Framework::transformers, trainer_arguments,
                                               beside({{"ds.json", deepspeed_json}}));
  const Job& job = both.scenario.job;
  CHECK(job.parallel.zero == 3);
  CHECK(job.memory.offload == OffloadKind::optimizer);
  CHECK(job.training.micro_batch == 2);
  CHECK(job.training.global_batch == 2 * 4 * 16);
  CHECK(job.training.precision == Precision::bf16);
  CHECK(job.memory.recompute.kind == RecomputeKind::full);
  CHECK(job.communication.bucket.in(MiB) == Approx(32.0));  // 4096 squared, 2 bytes each

  PlanImportOptions flags;
  flags.model = "llama2-7b";
  flags.sequence = 4096;
  flags.micro_batch = 2;
  flags.accumulation = 4;
  flags.precision = Precision::bf16;
  const Job alone = sharded_import(Framework::deepspeed, deepspeed_json, flags).scenario.job;
  CHECK(alone.stack.name == job.stack.name);
  CHECK(alone.parallel.zero == job.parallel.zero);
  CHECK(alone.memory.offload == job.memory.offload);
  CHECK(alone.communication.gradient_dtype == job.communication.gradient_dtype);
}

TEST_CASE("every stage has one stack, by DeepSpeed's file and by accelerate's",
          "[scenarios][fine-tuning]") {
  for (const std::string stage : {"1", "2", "3"}) {
    const std::string json = "{\"zero_optimization\": {\"stage\": " + stage +
                             "}, \"bf16\": {\"enabled\": true}, "
                             "\"train_micro_batch_size_per_gpu\": 2}";
    PlanImportOptions flags;
    flags.model = "llama2-7b";
    flags.sequence = 4096;
    const Job alone = sharded_import(Framework::deepspeed, json, flags).scenario.job;
    const Job file =
        sharded_import(Framework::transformers, trainer_arguments, beside({{"ds.json", json}}))
            .scenario.job;
    const Job accelerate = sharded_import(Framework::transformers, trainer_arguments,
                                          beside({{"accelerate.yaml",
                                                   "distributed_type: DEEPSPEED\nuse_cpu: false\n"
                                                   "deepspeed_config: {zero_stage: " +
                                                       stage + ", zero3_init_flag: true}\n"}}))
                               .scenario.job;
    CHECK(alone.stack.name == file.stack.name);
    CHECK(alone.stack.name == accelerate.stack.name);
    CHECK(accelerate.parallel.zero == std::stoi(stage));
  }
}

TEST_CASE("a DeepSpeed file that arguments name is found beside them", "[scenarios][fine-tuning]") {
  const test::TemporaryFolder folder;
  folder.write("ds.json", deepspeed_json);
  const std::string name = folder / "args.yaml";
  for (const char* said : {"ds.json", "/elsewhere/configs/ds.json", "configs/ds.json"}) {
    const Job job =
        sharded_import(Framework::transformers,
                       std::string(trainer_arguments) + "deepspeed: " + said + "\n", {}, 16, name)
            .scenario.job;
    CHECK(job.memory.offload == OffloadKind::optimizer);
  }
  const Job by_accelerate =
      sharded_import(Framework::transformers,
                     std::string(trainer_arguments) +
                         "distributed_type: DEEPSPEED\n"
                         "deepspeed_config: {deepspeed_config_file: ds.json}\n",
                     {}, 16, name)
          .scenario.job;
  CHECK(by_accelerate.memory.offload == OffloadKind::optimizer);
  CHECK(has(sharding_refusal(Framework::transformers,
                             std::string(trainer_arguments) + "deepspeed: other.json\n", {}, name),
            "pass it as a further file"));
}

TEST_CASE("values that differ between files name both places", "[scenarios][fine-tuning]") {
  const std::string same = "gradient_accumulation_steps: 4\nbf16: true\n";
  CHECK(sharding_refusal(Framework::transformers, trainer_arguments, beside({{"more.yaml", same}}))
            .empty());
  const std::string twice =
      sharding_refusal(Framework::transformers, trainer_arguments,
                       beside({{"more.yaml", "use_cpu: false\ngradient_accumulation_steps: 8\n"}}));
  CHECK(has(twice, "more.yaml:2:30"));
  CHECK(has(twice, "args.yaml:3"));
  const std::string batch = sharding_refusal(Framework::transformers, trainer_arguments,
                                             beside({{"ds.json",
                                                      "{\"zero_optimization\": {\"stage\": 2},\n"
                                                      "\"train_micro_batch_size_per_gpu\": 4}"}}));
  CHECK(has(batch, "ds.json:2"));
  CHECK(has(batch, "per_device_train_batch_size of args.yaml:2"));
  const std::string half = sharding_refusal(
      Framework::transformers, trainer_arguments,
      beside({{"ds.json",
               "{\"zero_optimization\": {\"stage\": 2},\n\"fp16\": {\"enabled\": true},"
               "\n\"bf16\": {\"enabled\": false}}"}}));
  CHECK(has(half, "ds.json:2"));
  CHECK(has(half, "bf16 of args.yaml:4"));
}

TEST_CASE("a DeepSpeed JSON keeps its checkpoints of activations", "[scenarios][import]") {
  PlanImportOptions flags;
  flags.model = "llama2-7b";
  flags.sequence = 4096;
  const auto kind = [&](const std::string& more) {
    return sharded_import(
               Framework::deepspeed,
               "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}" + more + "}",
               flags)
        .scenario.job.memory.recompute.kind;
  };
  CHECK(kind("") == RecomputeKind::none);
  CHECK(kind(", \"activation_checkpointing\": {\"partition_activations\": false, "
             "\"number_checkpoints\": null, \"profile\": false}") == RecomputeKind::none);
  CHECK(kind(", \"activation_checkpointing\": {\"partition_activations\": true}") ==
        RecomputeKind::full);
  CHECK(kind(", \"activation_checkpointing\": {\"number_checkpoints\": 32}") ==
        RecomputeKind::full);
  CHECK(kind(", \"gradient_checkpointing\": true") == RecomputeKind::full);
}

TEST_CASE("a share of the offloaded optimizer is read", "[scenarios][import]") {
  PlanImportOptions flags;
  flags.model = "llama2-7b";
  flags.sequence = 4096;
  const Job job = sharded_import(Framework::deepspeed,
                                 R"({"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true},
                               "zero_optimization": {"stage": 3, "offload_optimizer":
                                 {"device": "cpu", "ratio": 0.9}}})",
                                 flags)
                      .scenario.job;
  CHECK(job.memory.offload_share == Approx(0.9));
}

}  // namespace foretrain
