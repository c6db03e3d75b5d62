// SPDX-License-Identifier: Apache-2.0
// What fine-tuning frameworks train for, and beside which layers.
#include <catch2/catch.hpp>

#include "scenarios/imports/frameworks/frameworks.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using test::has;

constexpr const char* trl_run =
    "model_name_or_path: Qwen/Qwen3-8B\nbf16: true\nper_device_train_batch_size: 4\n";

ImportedScenario tuned(Framework framework, const std::string& text,
                       const std::string& name = "args.yaml") {
  PlanImportOptions options;
  options.gpus = 8;
  options.host = "dgx-h100";
  return import_framework(framework, text, name, options);
}

Job tuned_job(const std::string& text, const std::string& name = "args.yaml") {
  return tuned(Framework::transformers, std::string(trl_run) + text, name).scenario.job;
}

std::string refused(Framework framework, const std::string& text) {
  try {
    (void)tuned(framework, text);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("losses and names tell TRL's trainers of pairs apart", "[scenarios][fine-tuning]") {
  CHECK(tuned_job("beta: 0.1\nloss_type: hinge\n").fine_tuning.objective == Objective::preference);
  CHECK(tuned_job("beta: 0.1\noutput_dir: data/zephyr-7b-dpo-full\n").fine_tuning.reference ==
        ReferenceKind::copy);
  CHECK(tuned_job("beta: 0.1\n", "orpo/config.yaml").fine_tuning.reference ==
        ReferenceKind::precomputed);
  CHECK(has(refused(Framework::transformers, std::string(trl_run) + "beta: 0.1\n"),
            "nothing says which"));
  CHECK(has(refused(Framework::transformers,
                    std::string(trl_run) + "beta: 0.1\noutput_dir: dpo-then-orpo\n"),
            "nothing says which"));
  CHECK(has(refused(Framework::transformers, std::string(trl_run) + "loss_type: dft\n"),
            "loss of its own"));
}

TEST_CASE("GRPO is read as far as it trains", "[scenarios][fine-tuning]") {
  const std::string keys =
      "num_generations: 8\nmax_prompt_length: 512\nmax_completion_length: 1024\n"
      "use_vllm: true\nvllm_mode: colocate\nvllm_gpu_memory_utilization: 0.3\n";
  const ImportedScenario plain = tuned(Framework::transformers, std::string(trl_run) + keys);
  CHECK(plain.scenario.job.training.sequence == 1536);
  CHECK(plain.scenario.job.training.micro_batch == 4);
  CHECK(plain.scenario.job.fine_tuning.objective == Objective::next_token);
  CHECK(has(plain.text, "training part alone"));
  CHECK(has(plain.text, "30 % of their memory"));
  CHECK(tuned_job(keys + "beta: 0.04\n").fine_tuning.reference == ReferenceKind::copy);
  const Job swift = tuned(Framework::swift,
                          "model: Qwen/Qwen3-8B\nrlhf_type: grpo\nmax_length: 2048\n"
                          "max_completion_length: 512\nper_device_train_batch_size: 2\n")
                        .scenario.job;
  CHECK(swift.training.sequence == 2560);
  CHECK(swift.fine_tuning.reference == ReferenceKind::without_adapters);
}

TEST_CASE("TRL's defaults are those since its release 0.20", "[scenarios][fine-tuning]") {
  const ImportedScenario now = tuned(
      Framework::transformers, "model_name_or_path: Qwen/Qwen3-8B\ndataset_text_field: text\n");
  CHECK(now.scenario.job.training.precision == Precision::bf16);
  CHECK(now.scenario.job.training.sequence == 1024);
  CHECK(now.scenario.job.memory.recompute.kind == RecomputeKind::full);
  CHECK(has(now.text, "gradient_checkpointing: false for older ones"));
  const Job before = tuned_job("max_seq_length: 2048\ndataset_text_field: text\n");
  CHECK(before.memory.recompute.kind == RecomputeKind::none);
}

TEST_CASE("heads of rewards are rewards, others are refused", "[scenarios][fine-tuning]") {
  const std::string axolotl = "base_model: Qwen/Qwen3-8B\nsequence_len: 2048\n";
  const Job job =
      tuned(Framework::axolotl, axolotl + "reward_model: true\nnum_labels: 1\n").scenario.job;
  CHECK(job.fine_tuning.objective == Objective::reward);
  CHECK(job.training.micro_batch == 2);
  CHECK(has(refused(Framework::axolotl, axolotl + "num_labels: 3\n"), "a head of classes"));
  for (const char* task : {"embedding", "seq_cls", "generative_reranker"})
    CHECK(has(
        refused(Framework::swift, "model: Qwen/Qwen3-8B\ntask_type: " + std::string(task) + "\n"),
        "has another head"));
}

TEST_CASE("adapters stand beside the layers that a pattern matches", "[scenarios][fine-tuning]") {
  const auto targets = [](const std::string& pattern) {
    return tuned(Framework::axolotl,
                 "base_model: Qwen/Qwen3-8B\nadapter: lora\nlora_r: 8\nlora_target_modules: '" +
                     pattern + "'\n")
        .scenario.job.fine_tuning.targets;
  };
  const auto says = [](const std::string& pattern) {
    return refused(
        Framework::axolotl,
        "base_model: Qwen/Qwen3-8B\nadapter: lora\nlora_target_modules: '" + pattern + "'\n");
  };
  CHECK(targets("model.language_model.layers.[\\d]+.(mlp|self_attn).(up|down|gate|q|k|v|o)_proj") ==
        EnumSet<AdapterTarget>{AdapterTarget::query, AdapterTarget::key, AdapterTarget::value,
                               AdapterTarget::projection, AdapterTarget::gate, AdapterTarget::up,
                               AdapterTarget::fc2});
  CHECK(targets(".*\\.(q|v)_proj") ==
        EnumSet<AdapterTarget>{AdapterTarget::query, AdapterTarget::value});
  CHECK(has(says("model\\.layers\\.(0|2)\\.self_attn\\.q_proj"), "other modules in layer 1"));
  CHECK(has(says("model.visual.blocks.[\\d]+.(q|v)_proj"), "vision or audio tower"));
  CHECK(has(says("(a*)*b"), "too long or unusual"));
  CHECK(has(says("router.(gate|down)"), "matches no linear layer"));
}

}  // namespace foretrain
