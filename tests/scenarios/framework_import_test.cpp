// SPDX-License-Identifier: Apache-2.0
#include "models/layers/parameters.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

#include "scenarios/imports/frameworks/importers.hpp"

namespace foretrain {
namespace {

ImportedScenario imported(Framework framework, const std::string& text,
                          const PlanImportOptions& options = {}) {
  return import_framework(framework, text, "run", options);
}

std::string refused(Framework framework, const std::string& text,
                    const PlanImportOptions& options = {}) {
  try {
    imported(framework, text, options);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

bool any_mentions(const std::vector<std::string>& words, const std::string& part) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return word.find(part) != std::string::npos; });
}

const std::string nanotron = R"(checkpoints: {checkpoint_interval: 10}
general: {project: p, seed: 42}
model:
  ddp_bucket_cap_mb: 25
  dtype: bfloat16
  make_vocab_size_divisible_by: 1
  model_config:
    is_llama_config: true
    hidden_act: silu
    hidden_size: 2048
    intermediate_size: 8192
    max_position_embeddings: 4096
    num_attention_heads: 32
    num_hidden_layers: 16
    num_key_value_heads: 8
    rms_norm_eps: 1.0e-05
    tie_word_embeddings: true
    vocab_size: 128256
optimizer:
  accumulate_grad_in_fp32: true
  clip_grad: 1.0
  optimizer_factory: {name: adamW, adam_beta1: 0.9}
  zero_stage: 1
parallelism:
  dp: 4
  pp: 2
  tp: 2
  expert_parallel_size: 1
  pp_engine: 1f1b
  tp_linear_async_communication: true
  tp_mode: REDUCE_SCATTER
tokens: {batch_accumulation_per_replica: 8, micro_batch_size: 2, sequence_length: 4096, train_steps: 1000}
)";

const std::string torchtitan = R"([model]
name = "llama3"
flavor = "8B"
converters = ["float8"]
[optimizer]
name = "AdamW"
lr = 3e-4
[training]
local_batch_size = 1
seq_len = 8_192
steps = 1000
dataset = "c4"
[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 2
enable_async_tensor_parallel = true
[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"
[compile]
enable = true
)";

const std::string deepspeed = R"({
  "train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4,
  "gradient_clipping": 1.0, "steps_per_print": 10,
  "bf16": {"enabled": true},
  "zero_optimization": {"stage": 3, "overlap_comm": true, "reduce_bucket_size": 5e8,
    "contiguous_gradients": true,
    "offload_optimizer": {"device": "cpu", "pin_memory": true}}
})";

}  // namespace

TEST_CASE("a nanotron configuration states model, plan and GPUs", "[scenarios][import]") {
  const ImportedScenario result = imported(Framework::nanotron, nanotron);
  const Job& job = result.scenario.job;
  CHECK(job.model.name == "llama3.2-1b");
  CHECK(parameters(job.model) == 1'235'814'400);  // the released checkpoint
  CHECK(job.cluster.gpus() == 16);
  CHECK(job.parallel.zero == 1);
  CHECK(job.parallel.sequence);
  CHECK(job.training.global_batch == 64);
  CHECK(job.training.tokens == 1000.0 * 64 * 4096);
  // The output projection weighs as much as four of these layers, and stands on the last stage.
  CHECK(job.parallel.stage_layers == std::vector<int>{11, 5});
  CHECK(job.stack.name == "nanotron");
  CHECK(any_mentions(result.notes.ignored, "checkpoints.checkpoint_interval"));
}

TEST_CASE("nanotron's unknown keys and other models are refused with line and path",
          "[scenarios][import]") {
  CHECK(refused(Framework::nanotron, nanotron + "turbo: {on: true}\n")
            .find("run:33:13: turbo.on: is not known here") != std::string::npos);
  std::string other = nanotron;
  other.replace(other.find("is_llama_config"), 15, "is_other_config");
  CHECK(refused(Framework::nanotron, other).find("is of no known kind") != std::string::npos);
  std::string negative = nanotron;
  negative.replace(negative.find("dp: 4"), 5, "dp: 0");
  CHECK(refused(Framework::nanotron, negative)
            .find("parallelism.dp: must be a whole number from 1") != std::string::npos);
  PlanImportOptions options;
  options.left_out = {"turbo"};
  CHECK(refused(Framework::nanotron, nanotron + "turbo: {on: true}\n", options).empty());
}

TEST_CASE("a torchtitan configuration of 2025 shards over what is left of the GPUs",
          "[scenarios][import]") {
  PlanImportOptions options;
  options.gpus = 16;
  const ImportedScenario result = imported(Framework::torchtitan, torchtitan, options);
  const Job& job = result.scenario.job;
  CHECK(parameters(job.model) == 8'030'261'248);
  CHECK(job.parallel.data == 8);
  CHECK(job.parallel.zero == 3);
  CHECK(job.parallel.sequence);
  CHECK(job.training.precision == Precision::fp8);
  CHECK(job.training.global_batch == 8);
  CHECK(job.memory.recompute.every_second_matmul);
  CHECK(job.communication.overlap.tensor);
  CHECK(job.stack.name == "fsdp2-compile");
}

TEST_CASE("a torchtitan configuration says what of an fp8 operand shares a scale",
          "[scenarios][import]") {
  const auto scaling = [](const std::string& more) {
    return imported(Framework::torchtitan, torchtitan + more).scenario.job.training.fp8_scaling;
  };
  CHECK(scaling("") == Fp8Scaling::current);
  CHECK(scaling("\n[float8]\nscaling_type_input = \"delayed\"\n") == Fp8Scaling::tensor);
  CHECK(scaling("\n[float8]\nrecipe_name = \"rowwise\"\n") == Fp8Scaling::row);
}

TEST_CASE("a torchtitan configuration of 2024 has its degrees under training",
          "[scenarios][import]") {
  const ImportedScenario result = imported(Framework::torchtitan, R"(
[model]
name = "llama3"
flavor = "405B"
norm_type = "rmsnorm"
[training]
batch_size = 1
seq_len = 8192
steps = 3000
data_parallel_degree = -1
tensor_parallel_degree = 8
enable_float8_linear = false
compile = false
[experimental]
pipeline_parallel_degree = 1
[activation_checkpoint]
mode = 'full'
)");
  const Job& job = result.scenario.job;
  CHECK(job.model.name == "llama3.1-405b");
  CHECK(job.parallel.tensor == 8);
  CHECK(job.memory.recompute.kind == RecomputeKind::full);
  CHECK(job.stack.name == "fsdp2");
  CHECK(any_mentions(result.notes.assumed, "8 GPUs, the fewest"));
}

TEST_CASE("TOML that is none, and flavours without a model, are refused", "[scenarios][import]") {
  CHECK(refused(Framework::torchtitan, "[model\nname = 1").find("run:1:") != std::string::npos);
  CHECK(refused(Framework::torchtitan, "[model]\nname = \"llama3\"\nflavor = \"debugmodel\"\n")
            .find("run:3:10: model.flavor: 'debugmodel' of 'llama3' is not in the catalog") !=
        std::string::npos);
  std::string nested = "x = ";
  for (int i = 0; i < 5000; ++i) nested += "[";
  CHECK_FALSE(refused(Framework::torchtitan, nested).empty());
  CHECK(torchtitan_model("llama3", "70B") == "llama3-70b");
}

TEST_CASE("a DeepSpeed configuration needs a model and a sequence beside it",
          "[scenarios][import]") {
  CHECK(refused(Framework::deepspeed, deepspeed).find("does not hold the model") !=
        std::string::npos);
  PlanImportOptions options;
  options.model = "llama2-7b";
  options.sequence = 4096;
  options.gpus = 16;
  const ImportedScenario result = imported(Framework::deepspeed, deepspeed, options);
  const Job& job = result.scenario.job;
  CHECK(parameters(job.model) == 6'738'415'616);  // the released checkpoint
  CHECK(job.parallel.data == 16);
  CHECK(job.parallel.zero == 3);
  CHECK(job.memory.offload == OffloadKind::optimizer);
  CHECK(job.training.micro_batch == 4);
  CHECK(job.communication.bucket.value() == 1e9);
  CHECK(job.communication.gradient_dtype == Precision::bf16);
  // Today's release, not the ZeRO-3 of 2021 that the SC21 paper ran.
  CHECK(job.stack.name == "fsdp2");
  CHECK(result.notes.stack.starts_with("fsdp2, "));
  CHECK(any_mentions(result.notes.assumed, "ZeRO-3 as fast as FSDP2"));
  options.gpus = 8;
  CHECK(refused(Framework::deepspeed, deepspeed, options)
            .find("train_batch_size: 256 is not 4 sequences x 4 steps x 8 replicas") !=
        std::string::npos);
}

TEST_CASE("every import says first which stack it took, and why", "[scenarios][import]") {
  PlanImportOptions options;
  options.gpus = 32;
  const std::string arguments =
      "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
      "--max-position-embeddings 2048 --micro-batch-size 4 --global-batch-size 256 --bf16";
  const ImportedScenario plain = imported(Framework::megatron, arguments, options);
  CHECK(plain.notes.stack.starts_with(plain.scenario.job.stack.name + ", "));
  const std::size_t stack = plain.text.find("# Stack: megatron-core");
  REQUIRE(stack != std::string::npos);
  CHECK(stack < plain.text.find("# Read: "));
  const ImportedScenario local =
      imported(Framework::megatron, arguments + " --transformer-impl local", options);
  CHECK(local.notes.stack.starts_with("megatron-core-local, "));
}

TEST_CASE("recipes of fp8 and fp4 are read, others refused by name", "[scenarios][import]") {
  PlanImportOptions options;
  options.gpus = 8;
  options.host = "dgx-b200";
  const std::string plain =
      "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
      "--max-position-embeddings 2048 --micro-batch-size 4 --global-batch-size 256 --bf16 ";
  const std::string eight = plain + "--fp8-format hybrid --fp8-recipe ";
  const auto training = [&](const std::string& line) {
    return imported(Framework::megatron, line, options).scenario.job.training;
  };
  CHECK(training(eight + "delayed").precision == Precision::fp8);
  CHECK(training(eight + "delayed").fp8_scaling == Fp8Scaling::tensor);
  CHECK(training(eight + "tensorwise").fp8_scaling == Fp8Scaling::current);
  CHECK(training(eight + "blockwise").precision == Precision::fp8_block);
  CHECK(training(eight + "mxfp8").precision == Precision::mxfp8);
  CHECK(training(plain + "--fp4-format e2m1").precision == Precision::nvfp4);
  CHECK(refused(Framework::megatron, eight + "custom", options).find("'custom' is not modelled") !=
        std::string::npos);
  options.left_out = {"fp8-recipe"};
  CHECK(training(eight + "custom").fp8_scaling == Fp8Scaling::tensor);
}

TEST_CASE(
    "what the Hugging Face Trainer fills in for \"auto\" is asked for, or computed as it does",
    "[scenarios][import]") {
  const std::string automatic = R"({
    "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
    "bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto", "loss_scale": 0},
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto"}},
    "zero_optimization": {"stage": 3, "overlap_comm": true, "reduce_bucket_size": "auto",
      "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto"}
  })";
  PlanImportOptions options;
  options.model = "llama2-7b";
  options.sequence = 4096;
  options.gpus = 16;
  const std::string asked = refused(Framework::deepspeed, automatic, options);
  CHECK(asked.find("train_micro_batch_size_per_gpu: is \"auto\": the Hugging Face Trainer puts its "
                   "--per_device_train_batch_size there; give that with --micro-batch N") !=
        std::string::npos);
  CHECK(asked.find("gradient_accumulation_steps: is \"auto\"") != std::string::npos);
  CHECK(asked.find("--accumulation N") != std::string::npos);
  CHECK(asked.find("--precision bf16, fp16 or fp32") != std::string::npos);

  options.micro_batch = 2;
  options.accumulation = 8;
  options.precision = Precision::bf16;
  const ImportedScenario result = imported(Framework::deepspeed, automatic, options);
  const Job& job = result.scenario.job;
  CHECK(job.training.micro_batch == 2);
  CHECK(job.training.global_batch == 2 * 8 * 16);
  CHECK(job.training.precision == Precision::bf16);
  // transformers, integrations/deepspeed.py: reduce_bucket_size is hidden_size * hidden_size.
  CHECK(job.communication.bucket.value() == 4096.0 * 4096.0 * 2.0);

  options.micro_batch = 3;
  const std::string numbers = R"({"train_micro_batch_size_per_gpu": 4, "train_batch_size": 256,
    "gradient_accumulation_steps": "auto", "bf16": {"enabled": true},
    "zero_optimization": {"stage": 2}})";
  CHECK(
      refused(Framework::deepspeed, numbers, options).find("4 is not what --micro-batch says, 3") !=
      std::string::npos);
  options.micro_batch.reset();
  options.accumulation.reset();
  CHECK(imported(Framework::deepspeed, numbers, options).scenario.job.training.global_batch == 256);
  const std::string placed = R"({"train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": true},
    "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "auto"}}})";
  CHECK(refused(Framework::deepspeed, placed, options)
            .find("offload_optimizer.device: is \"auto\"") != std::string::npos);
}

TEST_CASE("unknown keys are refused, or listed and left out where that is asked for",
          "[scenarios][import]") {
  PlanImportOptions options;
  options.leave_out_unknown = true;
  const ImportedScenario tree =
      imported(Framework::nanotron, nanotron + "turbo: {on: true}\n", options);
  CHECK(tree.notes.unknown == std::vector<std::string>{"turbo.on"});
  CHECK(tree.text.find("# Left out, not known here, may change memory or time: turbo.on") !=
        std::string::npos);
  CHECK(refused(Framework::nanotron, nanotron + "turbo: {on: true}\n")
            .find("--leave-out-unknown all such keys") != std::string::npos);
  const std::string arguments =
      "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 "
      "--max-position-embeddings 1024 --micro-batch-size 4 --global-batch-size 64 --bf16 "
      "--tensor-model-parallel-size 2 --magic 3 --wonder";
  const ImportedScenario list = imported(Framework::megatron, arguments, options);
  CHECK(list.notes.unknown == std::vector<std::string>{"magic", "wonder"});
  // What is known and not modelled stays refused.
  CHECK(refused(Framework::megatron, arguments + " --fp16-lm-cross-entropy", options)
            .find("not modelled") != std::string::npos);
}

TEST_CASE("tp-comm-overlap is read, and every argument is in one list", "[scenarios][import]") {
  const std::string arguments =
      "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 "
      "--max-position-embeddings 1024 --micro-batch-size 4 --global-batch-size 64 --bf16 "
      "--tensor-model-parallel-size 2 --tp-comm-overlap";
  const ImportedScenario on = imported(Framework::megatron, arguments + " --sequence-parallel");
  CHECK(on.scenario.job.communication.overlap.tensor);
  CHECK(any_mentions(on.notes.read, "tp-comm-overlap"));
  CHECK_FALSE(any_mentions(on.notes.approximated, "tp-comm-overlap"));
  CHECK(any_mentions(on.notes.assumed,
                     "the user buffers of tp-comm-overlap are not counted in memory"));
  const ImportedScenario off = imported(Framework::megatron, arguments);
  CHECK_FALSE(off.scenario.job.communication.overlap.tensor);
  CHECK(off.text.find("tp-comm-overlap does nothing here") != std::string::npos);
  const ImportedScenario doubled =
      imported(Framework::megatron,
               arguments +
                   " --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params "
                   "--fsdp-double-buffer --use-distributed-optimizer --sequence-parallel");
  CHECK(any_mentions(doubled.notes.approximated, "fsdp-double-buffer"));
  CHECK_FALSE(any_mentions(doubled.notes.read, "fsdp-double-buffer"));
}

TEST_CASE("Megatron-DeepSpeed arguments complete a DeepSpeed configuration",
          "[scenarios][import]") {
  PlanImportOptions options;
  options.gpus = 32;
  options.arguments =
      "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
      "--max-position-embeddings 2048 --micro-batch-size 4 --global-batch-size 256 "
      "--tensor-model-parallel-size 2 --checkpoint-activations --bf16";
  const std::string text = R"({"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4,
    "zero_optimization": {"stage": 1}, "bf16": {"enabled": true}})";
  const Job job = imported(Framework::deepspeed, text, options).scenario.job;
  CHECK(job.model.layers == 24);
  CHECK(job.parallel.tensor == 2);
  CHECK(job.parallel.data == 16);
  CHECK(job.memory.recompute.kind == RecomputeKind::full);
  CHECK(job.stack.name == "megatron-deepspeed");
}

TEST_CASE("NeMo's overrides become the arguments of Megatron-Core", "[scenarios][import]") {
  const std::string yaml = R"(trainer: {num_nodes: 2, devices: 8, precision: bf16, max_steps: 100}
exp_manager: {name: x}
model:
  micro_batch_size: 1
  global_batch_size: 128
  encoder_seq_length: 4096
  max_position_embeddings: 4096
  num_layers: 32
  hidden_size: 4096
  ffn_hidden_size: 11008
  num_attention_heads: 32
  activation: fast-swiglu
  normalization: rmsnorm
  bias: false
  share_embeddings_and_output_weights: false
  position_embedding_type: rope
  hidden_dropout: 0.0
  attention_dropout: 0.0
  override_vocab_size: 32000
  tensor_model_parallel_size: 1
  sequence_parallel: true
  optim: {name: distributed_fused_adam, lr: 1e-4}
)";
  const ImportedScenario result = imported(
      Framework::nemo, yaml + "model.tensor_model_parallel_size=4\n+trainer.num_nodes=4\n");
  const Job& job = result.scenario.job;
  CHECK(job.stack.name == "nemo");
  CHECK(parameters(job.model) == 6'738'415'616);  // Llama 2 7B, as released
  CHECK(job.parallel.tensor == 4);
  CHECK(job.cluster.hosts == 4);
  CHECK(job.parallel.zero == 1);
  CHECK(job.communication.overlap.gradients);
  CHECK(job.training.tokens == 100.0 * 128 * 4096);
  std::string brief = yaml;  // rows of learned positions: the sequence, as in NeMo's own file
  const std::string rows = "  max_position_embeddings: 4096\n";
  brief.erase(brief.find(rows), rows.size());
  const Job learned =
      imported(Framework::nemo, brief + "model.position_embedding_type=learned_absolute\n")
          .scenario.job;
  CHECK(learned.model.position == PositionKind::learned);
  CHECK(learned.model.positions == 4096);
  CHECK(refused(Framework::nemo, yaml + "model.made_up=1\n").find("model.made_up") !=
        std::string::npos);
}

}  // namespace foretrain
