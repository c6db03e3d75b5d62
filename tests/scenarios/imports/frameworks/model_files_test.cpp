// SPDX-License-Identifier: Apache-2.0
// Models of files that a person names, and how their checkpoints rest.

#include <catch2/catch.hpp>

#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/huggingface_plan.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using test::has;
using test::TemporaryFolder;

/// Llama 3.1 8B (arXiv 2407.21783, table 3), with `more` behind.
std::string config(const std::string& more) {
  return R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
 "num_hidden_layers": 30, "num_attention_heads": 32, "num_key_value_heads": 8,
 "vocab_size": 128256, "max_position_embeddings": 131072, "rms_norm_eps": 1e-05,
 "rope_theta": 500000.0, "tie_word_embeddings": false, "hidden_act": "silu")" +
         (more.empty() ? "" : ",\n \"quantization_config\": " + more) + "}";
}

constexpr const char* bnb = R"({"quant_method": "bitsandbytes", "load_in_4bit": true,
  "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true})";
constexpr const char* gptq = R"({"quant_method": "gptq", "bits": 4, "group_size": 128})";
constexpr const char* awq = R"({"quant_method": "awq", "bits": 4, "group_size": 128})";
constexpr const char* fp8 = R"({"quant_method": "fp8", "weight_block_size": [128, 128]})";
constexpr const char* mxfp4 = R"({"quant_method": "mxfp4"})";

ImportedScenario plan(const std::string& packing, const std::optional<WantedTuning>& tuning) {
  PlanImportOptions options;
  options.gpus = 8;
  const ImportSource source{config(packing), "config.json", "Hugging Face"};
  return tuning ? tuning_of_huggingface(source, *tuning, options)
                : plan_of_huggingface(source, options);
}

std::string assumed(const ImportedScenario& imported) { return joined(imported.notes.assumed); }

std::string refusal(const std::string& packing, const std::optional<WantedTuning>& tuning) {
  try {
    (void)plan(packing, tuning);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

std::filesystem::path written(const TemporaryFolder& folder, const std::string& name,
                              const std::string& text) {
  const std::filesystem::path file = folder.path() / name;
  folder.write(name, text);
  return file;
}

constexpr const char* arguments =
    "per_device_train_batch_size: 1\nbf16: true\nmax_length: 2048\nuse_peft: true\nlora_r: 16\n"
    "lora_target_modules: all-linear\n";

}  // namespace

TEST_CASE("adapters stand beside weights as their checkpoint rests", "[scenarios][huggingface]") {
  const WantedTuning lora{16, false};
  const auto format = [&](const std::string& packing) {
    return plan(packing, lora).scenario.job.fine_tuning.frozen_format;
  };
  CHECK(format("") == FrozenFormat::as_computed);
  CHECK(format(bnb) == FrozenFormat::nf4_double);
  CHECK(format(R"({"load_in_8bit": true})") == FrozenFormat::int8);
  CHECK(format(gptq) == FrozenFormat::gptq);
  for (const char* unpacked : {fp8, mxfp4}) {
    const ImportedScenario imported = plan(unpacked, lora);
    CHECK(imported.scenario.job.fine_tuning.frozen_format == FrozenFormat::as_computed);
    CHECK(has(assumed(imported), "are unpacked"));
  }
  CHECK(has(refusal(awq, lora), "frozen weights in 4 bits of AWQ are not modelled"));
  CHECK(has(refusal(R"({"quant_method": "compressed-tensors"})", lora), "'compressed-tensors'"));
}

TEST_CASE("weights in four bits are not trained", "[scenarios][huggingface]") {
  for (const char* packed : {bnb, gptq, awq})
    CHECK(has(refusal(packed, {}), "train adapters beside them (--lora RANK)"));
  CHECK(has(assumed(plan(fp8, {})), "8-bit floats"));
  CHECK(has(assumed(plan(mxfp4, WantedTuning{})), "MXFP4"));
}

TEST_CASE("a model's file says how its checkpoint rests", "[scenarios][huggingface]") {
  const auto text = [](const std::string& packing) {
    Diagnostics diagnostics;
    const auto root = parse_yaml(config(packing), "config.json", YamlLimits{}, diagnostics);
    const auto model = import_huggingface(*root, {"mine"}, diagnostics);
    REQUIRE(diagnostics.empty());
    CHECK(model->unknown.empty());
    return model_catalog_text(*model, "config.json", "2026-11-28");
  };
  CHECK(has(text(bnb), "fine_tuning.frozen_format: nf4-double"));
  CHECK(has(text(gptq), "fine_tuning.frozen_format: gptq, or serving.precision.weights: int4"));
  CHECK(has(text(fp8), "serving.precision.weights: fp8-block"));
  CHECK(has(text(mxfp4), "serving.precision.weights: mxfp4"));
  CHECK_FALSE(has(text(""), "rests in"));
}

TEST_CASE("a model that the command line names is taken from wherever it lies",
          "[scenarios][import]") {
  const TemporaryFolder folder;
  const auto file = written(folder, "elsewhere/ours/config.json", config(gptq));
  const auto imported = [&](const std::string& model) {
    PlanImportOptions options;
    options.model = model;
    return import_framework(Framework::transformers, arguments, "run.yaml", options);
  };
  for (const std::string& named : {file.string(), file.parent_path().string()}) {
    const ImportedScenario run = imported(named);
    CHECK(run.scenario.job.model.layers == 30);
    CHECK(run.scenario.job.fine_tuning.frozen_format == FrozenFormat::gptq);
    CHECK(has(run.text, "layers: 30"));
    CHECK_FALSE(has(run.text, "model: ."));
  }
  PlanImportOptions options;
  options.model = file.string();
  options.sequence = 2048;
  options.gpus = 8;
  const ImportedScenario zero =
      import_framework(Framework::deepspeed,
                       R"({"zero_optimization": {"stage": 2}, "bf16": {"enabled": true},
         "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 1})",
                       "zero.json", options);
  CHECK(zero.scenario.job.model.layers == 30);
}

TEST_CASE("a folder that a configuration names as its model is opened", "[scenarios][import]") {
  const TemporaryFolder folder;
  (void)written(folder, "ours/config.json", config(bnb));
  const auto run = [&](const std::string& name) {
    return import_framework(Framework::transformers,
                            "model_name_or_path: " + name + "\n" + arguments,
                            (folder.path() / "run.yaml").string(), {});
  };
  for (const std::string& name :
       {std::string("ours"), std::string("./ours/"), (folder.path() / "ours").string()}) {
    const Job job = run(name).scenario.job;
    CHECK(job.model.layers == 30);
    CHECK(job.fine_tuning.frozen_format == FrozenFormat::nf4_double);
  }
}

}  // namespace foretrain
