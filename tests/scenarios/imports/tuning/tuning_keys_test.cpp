// SPDX-License-Identifier: Apache-2.0
// Defaults and kernels of fine-tuning frameworks, and what two frameworks call one thing.
#include <catch2/catch.hpp>

#include "scenarios/imports/frameworks/frameworks.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using test::has;

constexpr const char* trl =
    "model_name_or_path: mistralai/Mistral-7B-v0.1\nbf16: true\nmax_length: 2048\n"
    "per_device_train_batch_size: 4\n";
constexpr const char* axolotl =
    "base_model: NousResearch/Meta-Llama-3.1-8B\nsequence_len: 8192\nmicro_batch_size: 1\n";

ImportedScenario imported(Framework framework, const std::string& text,
                          const std::string& host = "dgx-h100") {
  PlanImportOptions options;
  options.gpus = 16;
  options.host = host;
  return import_framework(framework, text, "args.yaml", options);
}

Job job_of(Framework framework, const std::string& text, const std::string& host = "dgx-h100") {
  return imported(framework, text, host).scenario.job;
}

std::string refusal_of(Framework framework, const std::string& text) {
  try {
    (void)imported(framework, text);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("TRL's adapters and 4-bit weights are read", "[scenarios][fine-tuning]") {
  const std::string peft = std::string(trl) +
                           "use_peft: true\nload_in_4bit: true\nlora_r: 32\n"
                           "lora_target_modules: [q_proj, o_proj]\n";
  const FineTuning fine = job_of(Framework::transformers, peft).fine_tuning;
  CHECK(fine.adapter == AdapterKind::lora);
  CHECK(fine.rank == 32);
  CHECK(fine.dropout == Approx(0.05));  // TRL's default
  CHECK(fine.frozen_format == FrozenFormat::nf4);
  CHECK(fine.targets == EnumSet<AdapterTarget>{AdapterTarget::query, AdapterTarget::projection});
  CHECK(job_of(Framework::transformers, peft + "use_bnb_nested_quant: true\n")
            .fine_tuning.frozen_format == FrozenFormat::nf4_double);
  CHECK_FALSE(job_of(Framework::transformers, std::string(trl) + "use_peft: false\nlora_r: 32\n")
                  .fine_tuning.adapts());
  CHECK(job_of(Framework::transformers, std::string(trl) + "lora_r: 32\n").fine_tuning.adapts());
  CHECK(has(refusal_of(Framework::transformers, std::string(trl) + "load_in_4bit: true\n"),
            "no adapter is there to train"));
  CHECK(has(refusal_of(Framework::transformers, peft + "layers_to_transform: [0, 1]\n"),
            "differ by layer"));
}

TEST_CASE("what a framework takes where nothing is said", "[scenarios][fine-tuning]") {
  CHECK(job_of(Framework::axolotl, axolotl).training.precision == Precision::bf16);
  CHECK(job_of(Framework::axolotl, axolotl, "dgx-2").training.precision == Precision::fp16);
  CHECK(job_of(Framework::axolotl, std::string(axolotl) + "bf16: auto\n", "dgx-2")
            .training.precision == Precision::fp16);
  CHECK(job_of(Framework::axolotl, std::string(axolotl) + "bf16: false\ntf32: true\n")
            .training.precision == Precision::tf32);
  CHECK(job_of(Framework::axolotl, "base_model: NousResearch/Meta-Llama-3.1-8B\n")
            .training.micro_batch == 1);
  const Job swift = job_of(Framework::swift, "model: Qwen/Qwen3-8B\nmax_length: 2048\n");
  CHECK(swift.training.precision == Precision::bf16);
  CHECK(swift.fine_tuning.adapts());
  CHECK(swift.fine_tuning.dropout == Approx(0.05));
  CHECK(swift.fine_tuning.targets.has(AdapterTarget::up));
  CHECK(job_of(Framework::swift, "model: Qwen/Qwen3-8B\nlora_dropout: 0\n").fine_tuning.dropout ==
        0.0);
  const Job factory =
      job_of(Framework::llamafactory, "model_name_or_path: Qwen/Qwen3-8B\nbf16: true\n");
  CHECK(factory.fine_tuning.adapts());
  CHECK(factory.fine_tuning.targets.has(AdapterTarget::up));
  const ImportedScenario silent = imported(
      Framework::transformers, "model_name_or_path: mistralai/Mistral-7B-v0.1\nblock_size: 512\n");
  CHECK(silent.scenario.job.training.precision == Precision::fp32);
  CHECK(has(silent.text, "training in fp32"));
  CHECK(has(silent.text, "micro-batches of 8"));
}

TEST_CASE("formats that two keys ask for must agree", "[scenarios][fine-tuning]") {
  CHECK(job_of(Framework::transformers, std::string(trl) + "mixed_precision: 'no'\n")
            .training.precision == Precision::bf16);
  CHECK(has(refusal_of(Framework::transformers, std::string(trl) + "mixed_precision: fp16\n"),
            "bf16 of args.yaml:2"));
  CHECK(job_of(Framework::swift,
               "model: Qwen/Qwen3-8B\ntorch_dtype: bfloat16\nmixed_precision: 'no'\n")
            .training.precision == Precision::bf16);
  CHECK(has(refusal_of(Framework::transformers, std::string(trl) + "max_seq_length: 4096\n"),
            "under another of its names"));
}

TEST_CASE("fused kernels are the scenario's", "[scenarios][fine-tuning]") {
  using enum FusedKernel;
  const auto kernels = [](Framework framework, const std::string& text) {
    return job_of(framework, text).training.fused_kernels;
  };
  const std::string text(axolotl);
  const std::string trainer(trl);
  CHECK(kernels(Framework::axolotl, text) == FusedKernels{});
  CHECK(kernels(Framework::axolotl, text + "liger_fused_linear_cross_entropy: true\n") ==
        FusedKernels{linear_loss});
  CHECK(kernels(Framework::axolotl, text + "liger_rms_norm: true\n") == FusedKernels{norm});
  CHECK(kernels(Framework::axolotl, text + "cut_cross_entropy: true\n") ==
        FusedKernels{linear_loss});
  const std::string plugin =
      "plugins: [axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin]\n";
  CHECK(kernels(Framework::axolotl, text + plugin) == FusedKernels{linear_loss});
  CHECK(kernels(Framework::axolotl, text + plugin + "cut_cross_entropy: false\n") ==
        FusedKernels{});
  for (const char* key : {"use_liger_kernel", "use_liger"})
    CHECK(kernels(Framework::transformers, trainer + key + ": true\n") ==
          kernel_libraries.front().kernels);
  CHECK(kernels(Framework::transformers,
                trainer + "use_liger_kernel: true\n"
                          "liger_kernel_config: {fused_linear_cross_entropy: false}\n") ==
        FusedKernels{norm, rope, swiglu});
  CHECK(kernels(Framework::transformers, trainer + "optim: adamw_torch_fused\n") ==
        FusedKernels{optimizer});
  // The loss over pairs needs all logits.
  CHECK_FALSE(kernels(Framework::llamafactory,
                      "model_name_or_path: Qwen/Qwen3-8B\nstage: dpo\nenable_liger_kernel: true\n")
                  .has(linear_loss));
}

TEST_CASE("losses over pairs without a reference have no second pass", "[scenarios][fine-tuning]") {
  const std::string text(axolotl);
  const auto reference = [&](const std::string& kind) {
    const FineTuning fine = job_of(Framework::axolotl, text + "rl: " + kind + "\n").fine_tuning;
    CHECK(fine.objective == Objective::preference);
    return fine.has_reference();
  };
  CHECK(reference("dpo"));
  CHECK(reference("ipo"));
  CHECK_FALSE(reference("orpo"));
  CHECK_FALSE(reference("simpo"));
  const std::string factory = "model_name_or_path: Qwen/Qwen3-8B\nstage: dpo\n";
  CHECK(job_of(Framework::llamafactory, factory).fine_tuning.has_reference());
  CHECK_FALSE(
      job_of(Framework::llamafactory, factory + "pref_loss: orpo\n").fine_tuning.has_reference());
  CHECK(has(refusal_of(Framework::axolotl, text + "rl: kto\n"), "'kto' is not modelled"));
}

TEST_CASE("optimizers are known by their whole names", "[scenarios][fine-tuning]") {
  const auto kind = [](const std::string& name) {
    return job_of(Framework::axolotl, std::string(axolotl) + "optimizer: " + name + "\n")
        .training.optimizer;
  };
  CHECK(kind("adamw_torch_fused") == OptimizerKind::adamw);
  CHECK(kind("paged_adamw_8bit") == OptimizerKind::adam8bit);
  CHECK(kind("adafactor") == OptimizerKind::adafactor);
  CHECK(kind("schedule_free_adamw") == OptimizerKind::schedule_free);
  CHECK(kind("grokadamw") == OptimizerKind::grokadamw);
  for (const char* name : {"came_pytorch", "q_galore_adamw8bit", "lomo_layerwise", "dion_8bit"})
    CHECK(has(refusal_of(Framework::axolotl, std::string(axolotl) + "optimizer: " + name + "\n"),
              "is not modelled"));
}

TEST_CASE("paged optimizers page", "[scenarios][fine-tuning]") {
  const auto offload = [](const std::string& name) {
    return job_of(Framework::axolotl, std::string(axolotl) + "optimizer: " + name + "\n")
        .memory.offload;
  };
  for (const char* name : {"paged_adamw_8bit", "paged_adamw_32bit", "paged_lion_8bit"})
    CHECK(offload(name) == OffloadKind::paged);
  CHECK(offload("adamw_8bit") == OffloadKind::none);
}

TEST_CASE("optimizers keep states as their libraries type them", "[scenarios][fine-tuning]") {
  const auto states = [](const char* name) {
    const Training training =
        job_of(Framework::transformers, std::string(trl) + "optim: " + name + "\n").training;
    return std::pair{training.first_moment(), training.second_moment()};
  };
  const double eight = 1.0 + 4.0 / 256.0;
  CHECK(states("paged_adamw_32bit") == std::pair{4.0, 4.0});
  CHECK(states("ademamix_8bit") == std::pair{eight, eight});
  CHECK(states("lion_8bit") == std::pair{eight, eight});
  const std::string pure =
      "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\n"
      "finetuning_type: full\nper_device_train_batch_size: 1\n"
      "gradient_accumulation_steps: 1\npure_bf16: true\n";
  const auto narrow = [&](const char* name) {
    return job_of(Framework::llamafactory, pure + "optim: " + name + "\n").training;
  };
  CHECK(narrow("adamw_torch").first_moment() == 2.0);
  CHECK(narrow("stable_adamw").first_moment() == 4.0);  // with what rounding lost
  CHECK(narrow("lomo").steps_in_backward());
}

TEST_CASE("GaLore and APOLLO: rank, gap and parts of the layers", "[scenarios][fine-tuning]") {
  const std::string factory =
      "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\n"
      "finetuning_type: full\npure_bf16: true\n"
      "per_device_train_batch_size: 1\ngradient_accumulation_steps: 1\n";
  const Training galore = job_of(Framework::llamafactory,
                                 factory +
                                     "use_galore: true\ngalore_rank: 64\ngalore_layerwise: true\n"
                                     "galore_target: mlp,self_attn\n")
                              .training;
  CHECK(galore.projection == GradientProjection{.kind = ProjectionKind::galore, .rank = 64});
  CHECK(galore.optimizer_in_backward);
  const auto projection = [&](const std::string& keys) {
    return job_of(Framework::llamafactory, factory + keys).training.projection;
  };
  CHECK(projection("use_apollo: true\n").kind == ProjectionKind::apollo);
  CHECK(projection("use_apollo: true\n").rank == 16);
  CHECK(projection("use_galore: true\ngalore_target: mlp\n").parts ==
        EnumSet<ModelPart>{ModelPart::mlp, ModelPart::experts});
  CHECK(has(
      refusal_of(Framework::llamafactory, factory + "use_galore: true\ngalore_target: q_proj\n"),
      "some matrices of attention"));
  CHECK(has(
      refusal_of(Framework::llamafactory, factory + "use_galore: true\ngalore_proj_type: full\n"),
      "'full' is not modelled"));
  const std::string trainer = std::string(trl) + "optim: galore_adamw_8bit\n";
  const Training named =
      job_of(Framework::transformers, trainer +
                                          "optim_target_modules: ['.*.attn.*', '.*.mlp.*']\n"
                                          "optim_args: rank=32, update_proj_gap=100, scale=2\n")
          .training;
  CHECK(named.optimizer == OptimizerKind::adam8bit);
  CHECK(named.projection ==
        GradientProjection{.kind = ProjectionKind::galore, .rank = 32, .gap = 100});
  CHECK(has(refusal_of(Framework::transformers, trainer), "optim_target_modules: is missing"));
  CHECK(has(refusal_of(Framework::transformers,
                       trainer + "optim_target_modules: all-linear\noptim_args: rank=many\n"),
            "rank=many is no whole number"));
}

TEST_CASE("checkpoints that wait in host memory are offloaded layers", "[scenarios][fine-tuning]") {
  const auto away = [](Framework framework, const std::string& text) {
    return job_of(framework, text).memory.offloaded_layers;
  };
  const std::string tuned = std::string(axolotl);
  const int layers = job_of(Framework::axolotl, tuned).model.layers;
  CHECK(away(Framework::axolotl, tuned + "gradient_checkpointing: offload\n") == layers);
  CHECK(away(Framework::axolotl, tuned + "activation_offloading: true\n") == layers);
  CHECK(away(Framework::axolotl, tuned + "activation_offloading: false\n") == 0);
  CHECK(has(refusal_of(Framework::axolotl, tuned + "activation_offloading: disk\n"),
            "'disk' is not modelled"));
  const std::string factory = "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\n";
  CHECK(away(Framework::llamafactory, factory + "use_unsloth_gc: true\n") == 36);
  const Job unsloth = job_of(Framework::llamafactory, factory + "use_unsloth: true\n");
  CHECK(unsloth.memory.offloaded_layers == 36);
  CHECK(unsloth.training.fused_kernels.has(FusedKernel::lora));
}

TEST_CASE("LLaMA-Factory's freeze trains the last layers", "[scenarios][fine-tuning]") {
  const std::string factory =
      "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\n"
      "finetuning_type: freeze\n";
  const FineTuning fine = job_of(Framework::llamafactory, factory).fine_tuning;
  CHECK(fine.frozen_layers == 34);
  CHECK(fine.trains(ModelPart::experts));
  CHECK_FALSE(fine.trains(ModelPart::output));
  const FineTuning some = job_of(Framework::llamafactory, factory +
                                                              "freeze_trainable_layers: 8\n"
                                                              "freeze_trainable_modules: mlp\n"
                                                              "freeze_extra_modules: lm_head\n")
                              .fine_tuning;
  CHECK(some.frozen_layers == 28);
  CHECK_FALSE(some.trains(ModelPart::attention));
  CHECK(some.trains(ModelPart::output));
  CHECK(has(refusal_of(Framework::llamafactory, factory + "freeze_trainable_layers: -2\n"),
            "first layers below frozen ones"));
  CHECK(has(refusal_of(Framework::llamafactory, factory + "freeze_extra_modules: embed_tokens\n"),
            "'embed_tokens' is not modelled"));
}

TEST_CASE("torch.compile is the profile of compiled kernels", "[scenarios][fine-tuning]") {
  CHECK(job_of(Framework::axolotl, axolotl).stack.name == "hf-trainer");
  CHECK(job_of(Framework::axolotl, std::string(axolotl) + "torch_compile: true\n").stack.name ==
        "fsdp2-compile");
  CHECK(job_of(Framework::transformers,
               std::string(trl) + "dynamo_config: {dynamo_backend: INDUCTOR}\n")
            .stack.name == "fsdp2-compile");
  const std::string titan =
      "model.name = \"llama3\"\nmodel.flavor = \"8B\"\ncompile.enable = true\n";
  CHECK(job_of(Framework::torchtitan, titan).stack.name == "fsdp2-compile");
  CHECK(job_of(Framework::torchtitan, titan + "compile.components = [\"model\", \"loss\"]\n")
            .stack.name == "fsdp2-compile");
  const ImportedScenario loss =
      imported(Framework::torchtitan, titan + "compile.components = [\"loss\"]\n");
  CHECK(loss.scenario.job.stack.name == "fsdp2");
  CHECK(has(loss.text, "names the loss alone"));
}

TEST_CASE("bases that rest packed are read by switch, method and name",
          "[scenarios][fine-tuning]") {
  const std::string lora =
      std::string(axolotl) + "adapter: lora\nlora_r: 8\nlora_target_linear: true\n";
  const auto format = [](Framework framework, const std::string& text) {
    return job_of(framework, text).fine_tuning.frozen_format;
  };
  CHECK(format(Framework::axolotl, lora) == FrozenFormat::as_computed);
  CHECK(format(Framework::axolotl, lora + "load_in_8bit: true\n") == FrozenFormat::int8);
  CHECK(format(Framework::axolotl, lora + "gptq: true\n") == FrozenFormat::gptq);
  const std::string factory =
      "model_name_or_path: Qwen/Qwen3-8B\nfinetuning_type: lora\nquantization_bit: 4\n";
  CHECK(format(Framework::llamafactory, factory) == FrozenFormat::nf4_double);
  CHECK(has(refusal_of(Framework::llamafactory, factory + "quantization_method: hqq\n"),
            "is not modelled: bnb, gptq"));
  // The name of a base says it as well.
  const auto named = [](const std::string& model, const std::string& tuning) {
    return "model_name_or_path: " + model + "\nfinetuning_type: " + tuning + "\n";
  };
  CHECK(format(Framework::llamafactory, named("Qwen/Qwen3-8B", "lora")) ==
        FrozenFormat::as_computed);
  CHECK(has(refusal_of(Framework::llamafactory, named("Qwen/Qwen3-8B-AWQ", "lora")), "AWQ"));
  CHECK(has(refusal_of(Framework::llamafactory, named("Qwen/Qwen3-8B-GPTQ-Int4", "full")),
            "no adapter is there to train"));
}

TEST_CASE("keys that were left out are as if they were not there", "[scenarios][fine-tuning]") {
  PlanImportOptions options;
  options.gpus = 16;
  options.left_out = {"fp8_enable_fsdp_float8_all_gather", "fsdp_config.xla"};
  const std::string text = std::string(axolotl) +
                           "adapter: lora\nlora_r: 8\nlora_target_linear: true\n"
                           "fp8_enable_fsdp_float8_all_gather: true\nfsdp_config: {xla: true}\n";
  CHECK(import_framework(Framework::axolotl, text, "args.yaml", options)
            .scenario.job.fine_tuning.adapts());
}

}  // namespace foretrain
