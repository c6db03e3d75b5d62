// SPDX-License-Identifier: Apache-2.0
// Names of linear layers in configurations, by the model that they are said of.
#include <catch2/catch.hpp>

#include "scenarios/imports/frameworks/frameworks.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using enum AdapterTarget;
using test::has;
using Targets = EnumSet<AdapterTarget>;

ImportedScenario adapted_import(Framework framework, const std::string& text) {
  PlanImportOptions options;
  options.gpus = 8;
  options.host = "dgx-h100";
  const bool line = framework == Framework::bridge;
  return import_framework(framework, text, line ? "arguments" : "args.yaml", options);
}

ImportedScenario peft(const std::string& model, const std::string& keys) {
  return adapted_import(Framework::transformers,
                        "model_name_or_path: org/" + model +
                            "\nbf16: true\nuse_peft: true\nlora_r: 8\nlora_dropout: 0\n" + keys);
}

FineTuning tuning_of(const std::string& model, const std::string& keys) {
  return peft(model, keys).scenario.job.fine_tuning;
}

std::string targets_refused(Framework framework, const std::string& text) {
  try {
    (void)adapted_import(framework, text);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

const std::string all = "lora_target_modules: all-linear\n";

}  // namespace

TEST_CASE("all linear layers are those of the model", "[scenarios][fine-tuning]") {
  CHECK(tuning_of("Qwen3-8B", all).targets ==
        Targets{query, key, value, projection, gate, up, fc2});
  const ImportedScenario mixtral = peft("Mixtral-8x7B-Instruct", all);
  const FineTuning& fine = mixtral.scenario.job.fine_tuning;
  CHECK(fine.targets == Targets{query, key, value, projection, gate, up, fc2, router});
  CHECK(fine.expert_adapters == ExpertAdapters::per_expert);
  CHECK_FALSE(mixtral.scenario.job.training.grouped_experts);
  CHECK(has(mixtral.text, "(fine_tuning.expert_adapters:"));
  CHECK(tuning_of("DeepSeek-V2-Lite", all).targets ==
        Targets{query, key_value_down, key_value_up, projection, gate, up, fc2});
  CHECK(tuning_of("gpt-oss-20b", all).targets == Targets{query, key, value, projection});
  const ImportedScenario next = peft("Qwen3-Next-80B-A3B-Instruct", all);
  CHECK(next.scenario.job.fine_tuning.targets == Targets{query, key, value, projection, gate, up,
                                                         fc2, mixer_qkvz, mixer_ba, mixer_out,
                                                         router, shared_gate});
  CHECK(next.scenario.job.model.mtp_layers == 0);
  CHECK(has(next.text, "no prediction modules"));
}

TEST_CASE("listed names take what ends with them", "[scenarios][fine-tuning]") {
  const ImportedScenario next =
      peft("Qwen3-Next-80B-A3B-Instruct",
           "lora_target_modules: [linear_attn.in_proj_ba, linear_attn.in_proj_qkvz, "
           "linear_attn.out_proj, shared_expert.up_proj, shared_expert.down_proj, "
           "shared_expert.gate_proj, shared_expert_gate, mlp.gate, q_proj]\n");
  const FineTuning& fine = next.scenario.job.fine_tuning;
  CHECK(fine.targets ==
        Targets{mixer_qkvz, mixer_ba, mixer_out, up, fc2, gate, shared_gate, router, query});
  CHECK(fine.expert_adapters == ExpertAdapters::none);
  CHECK(has(next.text, "no adapters beside routed experts"));
  CHECK(tuning_of("Mixtral-8x7B-Instruct", "lora_target_modules: [q_proj, w1, w2, w3]\n").targets ==
        Targets{query, gate, up, fc2});
  const ImportedScenario lite =
      peft("DeepSeek-V2-Lite", "lora_target_modules: [q_proj, k_proj, v_proj, o_proj]\n");
  CHECK(lite.scenario.job.fine_tuning.targets == Targets{query, projection});
  CHECK(has(lite.text, "k_proj"));
  CHECK(tuning_of("DeepSeek-V3",
                  "lora_target_modules: [q_a_proj, q_b_proj, kv_a_proj_with_mqa, kv_b_proj]\n")
            .targets == Targets{query_down, query_up, key_value_down, key_value_up});
  // One matrix where others have three, by its own name alone.
  CHECK(tuning_of("Phi-4", "lora_target_modules: [qkv_proj, o_proj, gate_up_proj, down_proj]\n")
            .targets == Targets{qkv, projection, fc1, fc2});
  CHECK(tuning_of("pythia-1.4b", "lora_target_modules: [query_key_value]\n").targets ==
        Targets{qkv});
  CHECK(tuning_of("Phi-4", "lora_target_modules: all-linear\n").targets ==
        Targets{query, key, value, projection, gate, up, fc2});
  CHECK(has(targets_refused(Framework::axolotl,
                            "base_model: org/Qwen3-8B\nadapter: lora\nlora_r: 8\n"
                            "lora_target_modules: [q_proj, conv1d]\n"),
            "'conv1d' is no linear layer"));
  CHECK(has(targets_refused(Framework::axolotl,
                            "base_model: org/DeepSeek-V2-Lite\nadapter: lora\nlora_r: 8\n"
                            "lora_target_modules: [shared_experts.up_proj]\n"),
            "of some MLPs and not of others"));
}

TEST_CASE("layers of older models have names of their own", "[scenarios][fine-tuning]") {
  const auto listed = [](const std::string& model, const std::string& names) {
    return tuning_of(model, "lora_target_modules: [" + names + "]\n").targets;
  };
  CHECK(listed("gpt2", "c_attn") == Targets{qkv});
  CHECK(listed("Cerebras-GPT-1.3B", "c_fc, c_attn, c_proj") == Targets{qkv, projection, fc1, fc2});
  CHECK(listed("phi-2", "q_proj, v_proj, dense, fc1, fc2") ==
        Targets{query, value, projection, fc1, fc2});
  CHECK(listed("gpt-j-6b", "q_proj, out_proj, fc_in") == Targets{query, projection, fc1});
  // A model with gates has none of them.
  CHECK(has(targets_refused(Framework::transformers,
                            "model_name_or_path: org/Qwen3-8B\nbf16: true\nuse_peft: true\n"
                            "lora_target_modules: [q_proj, c_fc]\n"),
            "'c_fc'"));
}

TEST_CASE("experts of one parameter have adapters through target_parameters",
          "[scenarios][fine-tuning]") {
  const std::string parameters =
      "lora_target_modules: [q_proj, v_proj]\n"
      "target_parameters: [mlp.experts.gate_up_proj, mlp.experts.down_proj]\n";
  const FineTuning fine = tuning_of("gpt-oss-20b", parameters);
  CHECK(fine.targets == Targets{query, value, fc1, fc2});
  CHECK(fine.expert_adapters == ExpertAdapters::merged);
  const ImportedScenario packed =
      peft("gpt-oss-20b", "lora_target_modules: all-linear\nload_in_4bit: true\n");
  CHECK_FALSE(packed.scenario.job.fine_tuning.packed_experts);
  CHECK(has(packed.text, "experts in 16 bits"));
  const auto said = [](const std::string& model, const std::string& names) {
    return targets_refused(Framework::transformers,
                           "model_name_or_path: org/" + model +
                               "\nuse_peft: true\nlora_r: 8\nlora_dropout: 0\n"
                               "lora_target_modules: [q_proj]\ntarget_parameters: [" +
                               names + "]\n");
  };
  CHECK(has(said("gpt-oss-20b", "7.mlp.experts.gate_up_proj"), "of some layers"));
  CHECK(has(said("gpt-oss-20b", "mlp.experts.gate_up_proj_bias"), "no parameter of experts"));
  CHECK(has(said("Qwen3-8B", "mlp.experts.down_proj"), "does not have"));
}

TEST_CASE("Megatron-Bridge's adapters of experts are one for each rank",
          "[scenarios][fine-tuning]") {
  const auto read = [](const std::string& overrides) {
    return adapted_import(Framework::bridge,
                          "python run_recipe.py --recipe "
                          "qwen3_30b_a3b_pretrain_8gpu_h100_bf16_config --peft_scheme "
                          "lora peft.dim=16 " +
                              overrides)
        .scenario.job.fine_tuning;
  };
  CHECK(read("").targets == Targets{qkv, projection, fc1, fc2});
  CHECK(read("").expert_adapters == ExpertAdapters::shared);
  CHECK(read("peft.share_expert_adapters=false").expert_adapters == ExpertAdapters::per_expert);
  CHECK(read("'peft.target_modules=[linear_qkv,router]'").targets == Targets{qkv, router});
}

}  // namespace foretrain
