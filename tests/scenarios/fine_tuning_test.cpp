// SPDX-License-Identifier: Apache-2.0
// Keys of fine-tuning, and configurations of its frameworks.
#include <catch2/catch.hpp>

#include <algorithm>

#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "scenarios/sections/sections.hpp"

namespace foretrain {
namespace {

std::string scenario(const std::string& more) {
  return "schema: 1\nname: t\nmodel: llama2-7b\n"
         "cluster: {host: dgx-h100, hosts: 1, fabric: {kind: single-switch, preset: ib-ndr}}\n"
         "training: {sequence: 4096, global_batch: 8}\nparallel: {}\n" +
         more;
}

std::string complaint(const std::string& text) {
  try {
    (void)load_scenario_text(text, "t.yaml", ".", {});
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

ImportedScenario read(Framework framework, const std::string& text,
                      PlanImportOptions options = {}) {
  if (!options.gpus) options.gpus = 8;
  return import_framework(framework, text, "run", options);
}

std::string refusal(Framework framework, const std::string& text) {
  try {
    (void)read(framework, text);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("keys of fine-tuning are read and written", "[scenarios][fine-tuning]") {
  const Scenario read = load_scenario_text(
      scenario("fine_tuning: {adapter: dora, rank: 8, targets: [query, gate, fc2], dropout: 0.05,\n"
               "  expert_adapters: none, trained: [norms], frozen_format: nf4-double,\n"
               "  packed_experts: false, objective: preference, reference: without-adapters}\n"),
      "t.yaml", ".", {});
  const FineTuning& tuning = read.job.fine_tuning;
  CHECK(tuning.adapter == AdapterKind::dora);
  CHECK(tuning.rank == 8);
  CHECK(tuning.targets ==
        EnumSet<AdapterTarget>{AdapterTarget::query, AdapterTarget::gate, AdapterTarget::fc2});
  CHECK(tuning.trains(ModelPart::norms));
  CHECK_FALSE(tuning.trains(ModelPart::mlp));
  CHECK(tuning.frozen_format == FrozenFormat::nf4_double);
  CHECK(tuning.reference == ReferenceKind::without_adapters);
  CHECK(tuning.expert_adapters == ExpertAdapters::none);
  CHECK_FALSE(tuning.packs_experts());
  const std::string text = fine_tuning_keys().text(tuning);
  CHECK(load_scenario_text(scenario(text), "t.yaml", ".", {}).job.fine_tuning == tuning);
  CHECK(fine_tuning_keys().text(FineTuning{}).empty());
}

TEST_CASE("frozen layers are read and written", "[scenarios][fine-tuning]") {
  FineTuning tuning;
  tuning.frozen_layers = 24;
  const std::string text = fine_tuning_keys().text(tuning);
  CHECK(text == "fine_tuning:\n  frozen_layers: 24\n");
  CHECK(load_scenario_text(scenario(text), "t.yaml", ".", {}).job.fine_tuning == tuning);
}

TEST_CASE("keys that decide nothing are refused at their line", "[scenarios][fine-tuning]") {
  CHECK(has(complaint(scenario("fine_tuning: {rank: 8}\n")), "no effect without adapters"));
  CHECK(has(complaint(scenario("fine_tuning: {expert_adapters: shared}\n")),
            "no effect without adapters"));
  CHECK(has(complaint(scenario("fine_tuning: {adapter: lora, packed_experts: false}\n")),
            "no effect without packed weights"));
  CHECK(has(complaint(scenario("fine_tuning: {adapter: lora, reference: copy}\n")),
            "objective: preference"));
  CHECK(has(complaint(scenario("fine_tuning: {adapter: lora, targets: [q_proj]}\n")), "t.yaml:7"));
}

TEST_CASE("an Axolotl configuration of QLoRA is read", "[scenarios][fine-tuning]") {
  const std::string text = R"(base_model: meta-llama/Meta-Llama-3.1-8B-Instruct
adapter: qlora
load_in_4bit: true
sequence_len: 2048
sample_packing: true
pad_to_sequence_len: true
lora_r: 32
lora_alpha: 16
lora_dropout: 0.05
lora_target_linear: true
gradient_accumulation_steps: 4
micro_batch_size: 2
optimizer: adamw_torch
learning_rate: 0.0002
bf16: auto
gradient_checkpointing: true
flash_attention: true
datasets:
  - {path: tatsu-lab/alpaca, type: alpaca}
)";
  const ImportedScenario result = read(Framework::axolotl, text);
  const Job& job = result.scenario.job;
  CHECK(job.model.name == "llama3.1-8b");
  CHECK(job.fine_tuning.rank == 32);
  CHECK(job.fine_tuning.frozen_format == FrozenFormat::nf4_double);
  CHECK(job.fine_tuning.targets.has(AdapterTarget::gate));
  CHECK(job.training.global_batch == 2 * 4 * 8);
  CHECK(job.memory.recompute.kind == RecomputeKind::full);
  CHECK(job.parallel.data == 8);
  CHECK(has(refusal(Framework::axolotl, text + "galore_rank: 8\n"), "galore_rank"));
  CHECK(has(refusal(Framework::axolotl, text + "relora_steps: 8\n"), "--leave-out-unknown"));
}

TEST_CASE("LLaMA-Factory's stages and targets are read", "[scenarios][fine-tuning]") {
  const std::string text = R"(model_name_or_path: meta-llama/Llama-2-7b-hf
stage: dpo
finetuning_type: lora
lora_rank: 8
lora_target: q_proj,v_proj
cutoff_len: 2048
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
bf16: true
deepspeed: examples/deepspeed/ds_z3_config.json
)";
  std::string unnamed = text;
  unnamed.replace(unnamed.find("ds_z3_config"), 12, "ds_my_config");
  CHECK(has(refusal(Framework::llamafactory, unnamed), "pass it as a further file"));
  const Job job = read(Framework::llamafactory, text).scenario.job;
  CHECK(job.fine_tuning.objective == Objective::preference);
  CHECK(job.fine_tuning.reference == ReferenceKind::without_adapters);
  CHECK(job.training.micro_batch == 2);
  CHECK(job.parallel.zero == 3);
  CHECK(job.stack.name == "fsdp2");  // as `import deepspeed` chooses
}

TEST_CASE("the Trainer's arguments, accelerate and PEFT are one configuration",
          "[scenarios][fine-tuning]") {
  PlanImportOptions options;
  options.sequence = 4096;
  options.beside = {
      {"accelerate.yaml",
       "distributed_type: FSDP\nnum_processes: 8\nnum_machines: 1\nmixed_precision: bf16\n"
       "fsdp_config: {fsdp_sharding_strategy: FULL_SHARD}\n"},
      {"adapter_config.json",
       R"({"peft_type": "LORA", "r": 64, "target_modules": ["q_proj", "o_proj"],
           "base_model_name_or_path": "meta-llama/Llama-2-70b-hf", "lora_alpha": 16})"}};
  const std::string trainer =
      R"({"per_device_train_batch_size": 1, "gradient_accumulation_steps": 2,
          "gradient_checkpointing": true, "learning_rate": 1e-4, "output_dir": "x"})";
  const Job job = read(Framework::transformers, trainer, options).scenario.job;
  CHECK(job.model.name == "llama2-70b");
  CHECK(job.parallel.zero == 3);
  CHECK(job.parallel.framework == PlanFramework::transformers);
  CHECK(job.fine_tuning.rank == 64);
  CHECK(job.training.precision == Precision::bf16);
  CHECK(job.training.global_batch == 16);
  options.beside.emplace_back("again.yaml", "num_processes: 4\n");
  CHECK_THROWS_AS(read(Framework::transformers, trainer, options), ScenarioError);
}

TEST_CASE("ms-swift's arguments are read", "[scenarios][fine-tuning]") {
  const Job job = read(Framework::swift,
                       R"({"model": "Qwen/Qwen3-8B", "train_type": "lora", "lora_rank": 8,
                           "target_modules": "all-linear", "max_length": 2048, "packing": true,
                           "per_device_train_batch_size": 1, "torch_dtype": "bfloat16"})")
                      .scenario.job;
  CHECK(job.model.name == "qwen3-8b");
  CHECK(job.fine_tuning.targets.has(AdapterTarget::up));
  CHECK(job.memory.recompute.kind == RecomputeKind::full);
}

}  // namespace foretrain
