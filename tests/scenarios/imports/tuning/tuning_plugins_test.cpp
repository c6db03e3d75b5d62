// SPDX-License-Identifier: Apache-2.0
// Kernels, optimizers and tuners that fine-tuning frameworks plug in, and files that they name.
#include <catch2/catch.hpp>

#include "scenarios/imports/frameworks/frameworks.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using test::has;

constexpr const char* plugged_axolotl =
    "base_model: Qwen/Qwen3-8B\nsequence_len: 2048\nmicro_batch_size: 1\n";
constexpr const char* plugged_swift = "model: Qwen/Qwen3-8B\nmax_length: 2048\n";

ImportedScenario plugged(Framework framework, const std::string& text,
                         std::vector<std::pair<std::string, std::string>> beside = {},
                         const std::string& name = "args.yaml") {
  PlanImportOptions options;
  options.host = "dgx-h100";
  options.beside = std::move(beside);
  return import_framework(framework, text, name, options);
}

Job plugged_job(Framework framework, const std::string& text) {
  return plugged(framework, text).scenario.job;
}

std::string plug_refusal(Framework framework, const std::string& text,
                         const std::string& name = "args.yaml") {
  try {
    (void)plugged(framework, text, {}, name);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("Axolotl's formats without a second copy", "[scenarios][fine-tuning]") {
  const std::string axolotl = plugged_axolotl;
  const auto precision = [&](const std::string& keys) {
    return plugged_job(Framework::axolotl, axolotl + keys).training.precision;
  };
  CHECK(precision("bf16: true\nbfloat16: true\n") == Precision::bf16);
  CHECK(precision("bf16: false\nbfloat16: true\n") == Precision::bf16);
  CHECK(precision("bf16: false\nfp16: false\nfloat16: true\n") == Precision::fp16);
  CHECK(precision("float16: true\n") == Precision::bf16);  // bf16 is auto
  const Job whole = plugged_job(Framework::axolotl, axolotl + "bf16: false\nfloat16: true\n");
  CHECK(whole.training.master_weights == MasterWeights::none);
  CHECK(has(
      plug_refusal(Framework::transformers, "model_name_or_path: Qwen/Qwen3-8B\nbfloat16: true\n"),
      "bfloat16: is not known"));
}

TEST_CASE("Axolotl's kernels of flash-attn and its own are fused ones",
          "[scenarios][fine-tuning]") {
  const std::string axolotl = plugged_axolotl;
  const auto fused = [&](const std::string& key) {
    return plugged_job(Framework::axolotl, axolotl + key + ": true\n").training.fused_kernels;
  };
  CHECK(fused("flash_attn_rms_norm") == FusedKernels{FusedKernel::norm});
  CHECK(fused("flash_attn_cross_entropy") == FusedKernels{FusedKernel::loss});
  CHECK(fused("flash_attn_fuse_mlp") == FusedKernels{FusedKernel::swiglu});
  CHECK(fused("fused_attn_kernel") == FusedKernels{FusedKernel::rope});
  CHECK(has(plugged(Framework::axolotl, axolotl + "fused_attn_kernel: true\n").text,
            "norms of queries and keys one by one"));
  CHECK(has(plug_refusal(Framework::axolotl, axolotl + "use_kernels: true\n"), "of the Hub"));
}

TEST_CASE("Axolotl's unfrozen_parameters: the whole language model, or a refusal by name",
          "[scenarios][fine-tuning]") {
  const std::string tower =
      "base_model: Qwen/Qwen3.5-27B\nsequence_len: 2048\nmicro_batch_size: 1\n";
  const std::string whole = "unfrozen_parameters: [model.language_model.*, lm_head.*]\n";
  const Job job = plugged_job(Framework::axolotl, tower + whole);
  CHECK(job.fine_tuning == FineTuning{});
  CHECK(job.model.mtp_layers == 0);  // transformers loads none
  const std::string text = plugged_axolotl;
  CHECK(plugged_job(Framework::axolotl, text + "unfrozen_parameters: ['^model.*', '^lm_head.*']\n")
            .fine_tuning == FineTuning{});
  for (const char* some : {"[lm_head.*]", "[model.language_model.*, lm_head.*]", "[model.*]",
                           "[model.*, lm_head.*, 'model.layers.3[0-5]+.mlp']"})
    CHECK(has(plug_refusal(Framework::axolotl, text + "unfrozen_parameters: " + some + "\n"),
              "trains some parameters and freezes others"));
  CHECK(has(plug_refusal(Framework::axolotl,
                         tower + whole + "adapter: lora\nlora_r: 8\nlora_target_linear: true\n"),
            "nothing is trained"));
  CHECK(plugged_job(Framework::axolotl, text + "unfrozen_parameters:\n").fine_tuning ==
        FineTuning{});
}

TEST_CASE("GaLore for all modules is GaLore for whole layers", "[scenarios][fine-tuning]") {
  const auto parts = [](const std::string& model, const std::string& targets) {
    return plugged_job(Framework::llamafactory,
                       "model_name_or_path: " + model +
                           "\nfinetuning_type: full\npure_bf16: true\nuse_galore: true\n"
                           "per_device_train_batch_size: 1\ngalore_target: " +
                           targets + "\n")
        .training.projection.parts;
  };
  const auto all = GradientProjection{}.parts;
  CHECK(parts("Qwen/Qwen3-8B", "all") == all);
  CHECK(parts("Qwen/Qwen3-8B", "q_proj,k_proj,v_proj,o_proj,mlp") == all);
  CHECK(parts("EleutherAI/pythia-1b", "mlp") ==
        EnumSet<ModelPart>{ModelPart::mlp, ModelPart::experts});
}

TEST_CASE("LLaMA-Factory's second trainer freezes, and its kernels are NPUs'",
          "[scenarios][fine-tuning]") {
  const FineTuning fine = plugged_job(Framework::llamafactory,
                                      "model: Qwen/Qwen3-4B\nmodel_class: llm\n"
                                      "peft_config: {name: freeze, freeze_trainable_layers: 2, "
                                      "freeze_trainable_modules: all, freeze_extra_modules: null}\n"
                                      "micro_batch_size: 1\nmax_steps: 10\n")
                              .fine_tuning;
  CHECK(fine.frozen_layers == 34);
  CHECK_FALSE(fine.adapts());
  const std::string factory = "model_name_or_path: Qwen/Qwen3-8B\nfinetuning_type: full\n";
  CHECK(plugged_job(Framework::llamafactory, factory + "use_v1_kernels: true\n")
            .training.fused_kernels == FusedKernels{});
}

TEST_CASE("ms-swift's plug-ins: optimizers and tuners", "[scenarios][fine-tuning]") {
  const std::string swift = plugged_swift;
  const auto optimizer = [&](const std::string& name) {
    return plugged_job(Framework::swift, swift + "train_type: full\noptimizer: " + name + "\n")
        .training.optimizer;
  };
  CHECK(optimizer("muon") == OptimizerKind::muon);
  CHECK(optimizer("lorap") == OptimizerKind::adamw);
  CHECK(has(plug_refusal(Framework::swift, swift + "optimizer: muonclip\n"),
            "'muonclip' is not modelled: default"));
  const Job unsloth = plugged_job(Framework::swift, swift + "tuner_backend: unsloth\n");
  CHECK(unsloth.training.fused_kernels == kernels_of("unsloth"));
  CHECK(unsloth.memory.offloaded_layers == unsloth.model.layers);
  CHECK(has(plug_refusal(Framework::swift, swift + "tuner_backend: swift\n"),
            "'swift' is not modelled: peft, unsloth"));
}

TEST_CASE("ms-swift makes its own loss where sequences are split", "[scenarios][fine-tuning]") {
  const std::string swift = std::string(plugged_swift) + "use_liger_kernel: true\n";
  const auto cuts = [](const Job& job) {
    return job.training.fused_kernels.has(FusedKernel::linear_loss);
  };
  CHECK(cuts(plugged_job(Framework::swift, swift)));
  const Job split = plugged_job(Framework::swift, swift + "sequence_parallel_size: 4\n");
  CHECK_FALSE(cuts(split));
  CHECK(split.training.fused_kernels.has(FusedKernel::norm));
}

TEST_CASE("ms-swift's --fsdp names a file of its own", "[scenarios][import]") {
  const std::string swift = std::string(plugged_swift) + "fsdp: ./config/mine.json\n";
  const std::string file =
      R"({"_note": "mine", "fsdp": "full_shard auto_wrap", "fsdp_config":
          {"activation_checkpointing": false, "activation_cpu_offload": true}})";
  const Job job = plugged(Framework::swift, swift, {{"mine.json", file}}).scenario.job;
  CHECK(job.parallel.zero == 3);
  CHECK(job.memory.offloaded_layers == job.model.layers);
  CHECK(has(plug_refusal(Framework::swift, swift), "pass it as a further file"));
}

TEST_CASE("modules that ms-swift trains beside adapters over Megatron", "[scenarios][import]") {
  const auto script = [](const std::string& modules) {
    return "NPROC_PER_NODE=2 megatron sft --model Qwen/Qwen3-8B --tuner_type lora "
           "--max_length 2048 --modules_to_save " +
           modules + "\n";
  };
  const ImportedScenario both =
      plugged(Framework::swift, script("word_embeddings output_layer"), {}, "run.sh");
  CHECK(both.scenario.job.fine_tuning.trained ==
        EnumSet<ModelPart>{ModelPart::embedding, ModelPart::output});
  CHECK(has(plug_refusal(Framework::swift, script("linear_qkv"), "run.sh"),
            "'linear_qkv' is not modelled: word_embeddings"));
}

}  // namespace foretrain
