// SPDX-License-Identifier: Apache-2.0
// Imports of torchtune, and of launchers of plain PyTorch: Horovod and Lightning.
#include <catch2/catch.hpp>

#include <algorithm>

#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/importers.hpp"

namespace foretrain {
namespace {

PlanImportOptions launcher_options() {
  PlanImportOptions options;
  options.model = "llama3.2-1b";
  options.sequence = 2048;
  options.micro_batch = 2;
  return options;
}

Job launched(Framework framework, const std::string& text,
             const PlanImportOptions& options = launcher_options()) {
  return import_framework(framework, text, "run", options).scenario.job;
}

std::string not_launched(Framework framework, const std::string& text,
                         const PlanImportOptions& options = launcher_options()) {
  try {
    (void)import_framework(framework, text, "run", options);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

const std::string torchtune = R"(output_dir: /tmp/out
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  path: /tmp/tokenizer.model
  max_seq_len: 2048
dataset: {_component_: torchtune.datasets.alpaca_dataset, packed: True}
seed: null
shuffle: True
model:
  _component_: torchtune.models.llama3_1.lora_llama3_1_8b
  lora_attn_modules: ['q_proj', 'v_proj', 'output_proj']
  apply_lora_to_mlp: True
  lora_rank: 8
  lora_alpha: 16
  lora_dropout: 0.0
checkpointer: {_component_: torchtune.training.FullModelHFCheckpointer, output_dir: "${output_dir}"}
batch_size: 2
epochs: 1
optimizer: {_component_: torch.optim.AdamW, fused: True, lr: 3e-4}
loss: {_component_: torchtune.modules.loss.LinearCrossEntropyLoss}
max_steps_per_epoch: null
gradient_accumulation_steps: 8
device: cuda
enable_activation_checkpointing: True
enable_activation_offloading: False
compile: False
dtype: bf16
)";

const std::string lightning = R"(seed_everything: 1
trainer:
  accelerator: gpu
  devices: 8
  num_nodes: 2
  strategy: fsdp
  precision: bf16-mixed
  accumulate_grad_batches: 4
  max_epochs: 1
model: {class_path: my.Model}
data: {class_path: my.Data, init_args: {batch_size: 3}}
)";

}  // namespace

TEST_CASE("a torchtune configuration names its model by its builder", "[scenarios][import]") {
  PlanImportOptions options;
  options.gpus = 8;
  const Job job = launched(Framework::torchtune, torchtune, options);
  CHECK(job.model.name == "llama3.1-8b");
  CHECK(job.parallel.data == 8);
  CHECK(job.parallel.zero == 3);
  CHECK(job.training.sequence == 2048);
  CHECK(job.training.global_batch == 2 * 8 * 8);
  CHECK(job.training.first_moment() == 2.0);
  CHECK(job.memory.recompute.kind == RecomputeKind::full);
  CHECK(job.memory.fused_loss);
  CHECK(job.fine_tuning.adapter == AdapterKind::lora);
  CHECK(job.fine_tuning.rank == 8);
  CHECK(job.fine_tuning.targets ==
        EnumSet<AdapterTarget>{AdapterTarget::query, AdapterTarget::value,
                               AdapterTarget::projection, AdapterTarget::gate, AdapterTarget::up,
                               AdapterTarget::fc2});
  const Job full =
      launched(Framework::torchtune,
               changed(torchtune, "lora_llama3_1_8b", "llama3_1_8b") + "batch_size=1\ncompile=True",
               options);
  CHECK_FALSE(full.fine_tuning.adapts());
  CHECK(full.training.micro_batch == 1);  // an override behind the file
  CHECK(full.stack.name == "fsdp2-compile");
  const Job quantised = launched(
      Framework::torchtune, changed(torchtune, "lora_llama3_1_8b", "qlora_llama3_1_8b"), options);
  CHECK(quantised.fine_tuning.packs_frozen());
  using Names = std::vector<std::string>;
  CHECK(torchtune_models("torchtune.models.qwen2.lora_qwen2_0_5b") ==
        Names{"qwen2.0-5b", "qwen2-0.5b"});
  CHECK(torchtune_models("torchtune.models.llama2.llama2_7b") == Names{"llama2-7b"});
}

TEST_CASE("torchtune's recipe of little memory: steps in the backward pass, inputs in host memory",
          "[scenarios][import]") {
  PlanImportOptions options;
  options.gpus = 1;
  std::string text = changed(torchtune, "lora_llama3_1_8b", "llama3_1_8b");
  text = changed(text, "torch.optim.AdamW, fused: True", "bitsandbytes.optim.PagedAdamW");
  text = changed(text, "activation_offloading: False", "activation_offloading: True");
  const Job job =
      launched(Framework::torchtune,
               changed(text, "gradient_accumulation_steps: 8", "optimizer_in_bwd: True"), options);
  CHECK(job.training.optimizer_in_backward);
  CHECK(job.training.first_moment() == 4.0);  // whatever the weights have
  CHECK(job.memory.offloaded_layers == 32);
  CHECK(job.memory.recompute.kind == RecomputeKind::full);
  options.shape = job.model;  // of a config.json
  options.shape->layers = 40;
  options.shape->name = "ours";
  CHECK(launched(Framework::torchtune,
                 changed(text, "gradient_accumulation_steps: 8", "optimizer_in_bwd: True"), options)
            .memory.offloaded_layers == 40);
}

TEST_CASE("what torchtune does and is not modelled is refused by name", "[scenarios][import]") {
  PlanImportOptions options;
  options.gpus = 8;
  const auto said = [&](const std::string& from, const std::string& to) {
    return not_launched(Framework::torchtune, changed(torchtune, from, to), options);
  };
  CHECK(said("compile: False", "turbo: on").find("run:26:8: turbo: is not known here") !=
        std::string::npos);
  CHECK(said("max_seq_len: 2048", "max_seq_len: null").find("tokenizer.max_seq_len: is not set") !=
        std::string::npos);
  CHECK(said("lora_llama3_1_8b", "lora_phi9_mini")
            .find("model._component_: 'lora_phi9_mini' is no model of the catalog") !=
        std::string::npos);
  CHECK(said("'v_proj'", "'w_proj'").find("'w_proj' is none of q_proj") != std::string::npos);
}

TEST_CASE("axes of MaxText are shards and replicas", "[scenarios][import]") {
  PlanImportOptions options;
  options.gpus = 64;
  const std::string text =
      "model_name: llama3-70b\nhardware: gpu\nper_device_batch_size: 2\n"
      "max_target_length: 8192\nsteps: 30\nremat_policy: full\n"
      "ici_fsdp_parallelism: 8\ndataset_type: synthetic\n";
  const Job job = launched(Framework::maxtext, text + "ici_fsdp_parallelism=16", options);
  CHECK(job.model.name == "llama3-70b");
  CHECK(job.parallel.data == 64);
  CHECK(job.parallel.zero == 3);
  CHECK(job.parallel.zero_group == 16);  // an override behind the file
  CHECK(job.training.global_batch == 128);
  CHECK(job.training.tokens == 30.0 * 128 * 8192);
  CHECK(job.memory.recompute.kind == RecomputeKind::full);
  CHECK(job.stack.name == "jax");
  CHECK(launched(Framework::maxtext, "model_name=llama3-8b per_device_batch_size=1", options)
            .parallel.zero_group == 0);
  const auto said = [&](const std::string& from, const std::string& to) {
    return not_launched(Framework::maxtext, changed(text, from, to), options);
  };
  CHECK(said("steps: 30", "ici_expert_parallelism: 8")
            .find("run:5:25: ici_expert_parallelism: is an axis that is not modelled") !=
        std::string::npos);
  CHECK(said("remat_policy: full", "remat_policy: save_out_proj")
            .find("remat_policy: 'save_out_proj' is not modelled") != std::string::npos);
  CHECK(said("steps: 30", "turbo: 3").find("run:5:8: turbo: is not known here") !=
        std::string::npos);
  CHECK(said("llama3-70b", "gemma9-1t").find("model_name: 'gemma9-1t' is no model") !=
        std::string::npos);
}

TEST_CASE("Horovod's fusion buffer is the gradient bucket", "[scenarios][import]") {
  const Job job = launched(Framework::horovod,
                           "horovodrun -np 16 -H a:8,b:8 --fusion-threshold-mb 32 "
                           "--cycle-time-ms 3.5 python train.py --epochs 3");
  CHECK(job.cluster.gpus() == 16);
  CHECK(job.parallel.data == 16);
  CHECK(job.parallel.zero == 0);
  CHECK(job.communication.bucket == 32.0 * MiB);
  CHECK(job.communication.overlap.gradients);
  CHECK(job.training.global_batch == 32);
  CHECK(job.training.precision == Precision::fp32);
  CHECK(job.stack.name == "fsdp2");
  const Job variable = launched(Framework::horovod,
                                "export HOROVOD_FUSION_THRESHOLD=33554432\n"
                                "mpirun -np 8 -x HOROVOD_FUSION_THRESHOLD python train.py\n");
  CHECK(variable.communication.bucket == 32.0 * MiB);
  CHECK(launched(Framework::horovod, "horovodrun -np 8 python train.py").communication.bucket ==
        128.0 * MiB);
}

TEST_CASE("what Horovod does and is not modelled is refused by name", "[scenarios][import]") {
  const std::string launch = "horovodrun -np 8 ";
  CHECK(not_launched(Framework::horovod, launch + "--hierarchical-allreduce python train.py")
            .find("HOROVOD_HIERARCHICAL_ALLREDUCE: sums with NCCL in hosts and MPI between them") !=
        std::string::npos);
  CHECK(not_launched(Framework::horovod, launch + "--fusion-threshold-mb 0 python train.py")
            .find("0 sums every tensor by itself") != std::string::npos);
  CHECK(not_launched(Framework::horovod, launch + "--fusion-threshold-mb big python train.py")
            .find("'big' is not a size") != std::string::npos);
  CHECK(not_launched(Framework::horovod, launch + "python train.py", {})
            .find("--micro-batch: is needed: Horovod leaves the batch of a GPU to code") !=
        std::string::npos);
  CHECK(not_launched(Framework::horovod, "import horovod.torch as hvd\nhvd.init()\n")
            .find("is Python, which is not run") != std::string::npos);
}

TEST_CASE("Lightning's strategies are what they launch", "[scenarios][import]") {
  const Job job = launched(Framework::lightning, lightning);
  CHECK(job.cluster.gpus() == 16);
  CHECK(job.parallel.zero == 3);
  CHECK(job.training.micro_batch == 3);
  CHECK(job.training.global_batch == 3 * 4 * 16);
  CHECK(job.training.precision == Precision::bf16);
  CHECK(job.stack.name == "fsdp2");
  const auto strategy = [](const std::string& name) {
    return launched(Framework::lightning, changed(lightning, "strategy: fsdp", name));
  };
  CHECK(strategy("strategy: ddp_find_unused_parameters_true").parallel.zero == 0);
  CHECK(strategy("strategy: auto").parallel.zero == 0);
  CHECK(strategy("strategy: deepspeed_stage_2").stack.name == "megatron-deepspeed");
  CHECK(strategy("strategy: deepspeed_stage_2").parallel.zero == 2);
  const Job written = strategy(
      "strategy: {class_path: lightning.pytorch.strategies.FSDPStrategy, "
      "init_args: {sharding_strategy: SHARD_GRAD_OP, activation_checkpointing_policy: "
      "[my.Block]}}");
  CHECK(written.parallel.zero == 2);
  CHECK(written.memory.recompute.kind == RecomputeKind::full);
  const Job buckets = strategy(
      "strategy: {class_path: lightning.pytorch.strategies.DDPStrategy, "
      "init_args: {bucket_cap_mb: 100}}");
  CHECK(buckets.communication.bucket == 100.0 * MiB);
}

TEST_CASE("strategies that Lightning leaves to others are refused by name", "[scenarios][import]") {
  const auto said = [](const std::string& from, const std::string& to) {
    return not_launched(Framework::lightning, changed(lightning, from, to));
  };
  CHECK(said("strategy: fsdp", "strategy: model_parallel")
            .find("run:6:13: trainer.strategy: 'model_parallel' is not read") != std::string::npos);
  CHECK(said("bf16-mixed", "transformer-engine").find("trainer.precision: 'transformer-engine'") !=
        std::string::npos);
  CHECK(said("strategy: fsdp",
             "strategy: {class_path: lightning.pytorch.strategies.FSDPStrategy, "
             "init_args: {turbo: 1}}")
            .find("trainer.strategy.init_args.turbo: is not known here") != std::string::npos);
}

}  // namespace foretrain
