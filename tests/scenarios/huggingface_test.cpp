// SPDX-License-Identifier: Apache-2.0
#include "scenarios/huggingface/huggingface.hpp"
#include "models/layers/parameters.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "scenarios/catalog/catalog_models.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

const std::filesystem::path shapes =
    std::filesystem::path(FORETRAIN_SOURCE_DIR) / "tests/scenarios/huggingface";

std::optional<HuggingFaceModel> import_text(const std::string& text, Diagnostics& diagnostics) {
  const auto root = parse_yaml(text, "config.json", YamlLimits{}, diagnostics);
  return root ? import_huggingface(*root, {"model"}, diagnostics) : std::nullopt;
}

std::string first_error(const std::string& text) {
  Diagnostics diagnostics;
  CHECK_FALSE(import_text(text, diagnostics).has_value());
  return diagnostics.empty() ? "" : diagnostics.items().front().text();
}

/// A model as a scenario names it.
std::optional<ModelEntry> entry_of(const std::string& name, const std::filesystem::path& folder,
                                   std::vector<ResolvedValue>& values) {
  Diagnostics diagnostics;
  std::vector<SourceFile> files;
  CatalogContext context{{}, folder, diagnostics, files, values};
  auto entry = load_model_entry({name, "model", {}}, context);
  for (const Diagnostic& each : diagnostics.items()) UNSCOPED_INFO(each.text());
  return entry;
}

/// Counts of models that the catalog lacks: tensor sizes of the released checkpoints.
const std::map<std::string, std::int64_t> published{
    {"gemma-7b", 8'537'680'896},      {"gemma2-2b", 2'614'341'888},
    {"gpt-neox-20b", 20'554'567'680}, {"mistral3-text", 23'572'403'200},
    {"phi3-mini", 3'821'079'552},     {"pythia-410m", 405'334'016},
    {"starcoder2-7b", 7'173'923'840}};

}  // namespace

TEST_CASE("public configurations have exactly the published parameters", "[huggingface]") {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(shapes)) {
    const std::string name = file.path().stem().string();
    INFO(name);
    Diagnostics diagnostics;
    const auto model = import_text(test::contents(file.path()), diagnostics);
    for (const Diagnostic& each : diagnostics.items()) UNSCOPED_INFO(each.text());
    REQUIRE(model.has_value());
    CHECK(model->unknown.empty());
    std::vector<ResolvedValue> values;
    const auto known = published.find(name);
    const std::int64_t expected =
        known != published.end() ? known->second : parameters(entry_of(name, {}, values)->shape);
    CHECK(parameters(model->shape) == expected);
    ++count;
  }
  CHECK(count == 58);
}

TEST_CASE("a configuration can be the model of a scenario", "[huggingface]") {
  std::vector<ResolvedValue> values;
  const auto entry = entry_of("llama3-8b.json", shapes, values);
  REQUIRE(entry.has_value());
  CHECK(entry->shape.name == "llama3-8b");
  CHECK(parameters(entry->shape) == 8'030'261'248);
  const auto heads = std::find_if(values.begin(), values.end(), [](const ResolvedValue& value) {
    return value.path == "model.attention.kv_heads";
  });
  REQUIRE(heads != values.end());
  CHECK(heads->value == "8");
  CHECK(heads->origin.find("llama3-8b.json:") != std::string::npos);
}

TEST_CASE("an imported model read again from the catalog's format is the same", "[huggingface]") {
  const test::TemporaryFolder folder;
  for (const auto& file : std::filesystem::directory_iterator(shapes)) {
    Diagnostics diagnostics;
    auto model = import_text(test::contents(file.path()), diagnostics);
    REQUIRE(model.has_value());
    model->assumed.emplace_back("a note");
    folder.write("model.yaml", model_catalog_text(*model, "a \"quoted\" source", "2026-01-02"));
    std::vector<ResolvedValue> values;
    const auto again = entry_of("./model.yaml", folder.path(), values);
    INFO(file.path());
    REQUIRE(again.has_value());
    CHECK(parameters(again->shape) == parameters(model->shape));
    CHECK(active_parameters(again->shape) == active_parameters(model->shape));
    CHECK(mtp_parameters(again->shape) == mtp_parameters(model->shape));
    CHECK(again->shape.head_dim == model->shape.head_dim);
    CHECK(again->shape.position == model->shape.position);
  }
}

TEST_CASE("what is wrong in a configuration is told at its line", "[huggingface]") {
  CHECK(first_error("[1, 2]").find("is not a Hugging Face configuration") != std::string::npos);
  CHECK(first_error("{}").find("model_type: is missing") != std::string::npos);
  CHECK(
      first_error("{\n\"model_type\": \"lama\"}")
          .find("config.json:2:15: model_type: 'lama' is not understood; did you mean 'llama'?") ==
      0);
  CHECK(first_error("{\"model_type\": \"llama\", \"num_hidden_layers\": 2.5}")
            .find("must be a whole number from 1 to 10000, not '2.5'") != std::string::npos);
  // Outside of every integer type: found by fuzzing.
  for (const std::string large : {"1e36", "1088888888888888888888888888888888824", "-1e36"})
    CHECK(first_error("{\"model_type\": \"llama\", \"num_hidden_layers\": " + large + "}")
              .find("must be a whole number from 1 to 10000, not '" + large + "'") !=
          std::string::npos);
  CHECK(first_error("{\"model_type\": \"llama\", \"num_hidden_layers\": \"two\"}")
            .find("not 'two'") != std::string::npos);
  CHECK(first_error("{\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"hidden_size\": 10, "
                    "\"vocab_size\": 100, \"num_attention_heads\": 3, \"intermediate_size\": 40}")
            .find("head_dim: is missing, and hidden / attention.heads is 3.33333") !=
        std::string::npos);
  CHECK(first_error("{\"model_type\": \"llama\",").find("config.json:1:") == 0);
}

TEST_CASE("unknown keys and what is assumed are told", "[huggingface]") {
  Diagnostics diagnostics;
  std::string text = test::contents(shapes / "mistral-7b.json");
  text.insert(1, "\"brand_new_key\": 7,");
  const auto model = import_text(text, diagnostics);
  REQUIRE(model.has_value());
  CHECK(model->unknown == std::vector<std::string>{"brand_new_key"});
  CHECK(model->assumed.empty());
}

TEST_CASE("windows are read from the configuration: on all layers, by family or by layer types",
          "[huggingface]") {
  const auto shape_of = [](std::string text, const std::string& first) {
    Diagnostics diagnostics;
    text.insert(1, first);
    const auto model = import_text(text, diagnostics);
    REQUIRE(model.has_value());
    return model->shape;
  };
  const std::string mistral = test::contents(shapes / "mistral-7b.json");
  CHECK(shape_of(mistral, "").window == 4096);
  CHECK(shape_of(mistral, "").full_attention_every == 0);
  const LlmShape gemma = shape_of(test::contents(shapes / "gemma2-2b.json"), "");
  CHECK(gemma.window == 4096);
  CHECK(gemma.full_attention_every == 2);
  const LlmShape gemma3 = shape_of(test::contents(shapes / "gemma3-1b.json"), "");
  CHECK(gemma3.window == 512);
  CHECK(gemma3.full_attention_every == 6);
  const LlmShape gpt_oss = shape_of(test::contents(shapes / "gpt-oss-20b.json"), "");
  CHECK(gpt_oss.window == 128);
  CHECK(gpt_oss.full_attention_every == 2);
  CHECK(gpt_oss.attention_sinks);
  CHECK(gpt_oss.rotary_scaled);
  CHECK(gpt_oss.mlp_clamp == 7.0);
  CHECK(gpt_oss.moe->linear_bias);
  // Qwen2 keeps a size for windows that it does not use, and starts them behind the last layer.
  const std::string qwen = test::contents(shapes / "qwen2-7b.json");
  CHECK(shape_of(qwen, "").window == 0);

  std::string types;
  for (int layer = 0; layer < 32; ++layer)
    types += std::string(layer > 0 ? "," : "") +
             (layer % 2 == 0 ? "\"sliding_attention\"" : "\"full_attention\"");
  const LlmShape alternate = shape_of(mistral, "\"layer_types\": [" + types + "],");
  CHECK(alternate.window == 4096);
  CHECK(alternate.full_attention_every == 2);
  // From some layer on: layers of their own.
  const LlmShape late = shape_of(mistral, "\"max_window_layers\": 20,");
  CHECK(late.window == 0);
  REQUIRE(late.special_layers.size() == 1);
  CHECK(late.special_layers.front().window == 4096);
  CHECK(late.special_layers.front().heads == late.heads);
  CHECK(late.special_pattern == std::string(20, '.') + std::string(12, 'a'));
}

TEST_CASE("lists of layers that are not the model's are refused at their line", "[huggingface]") {
  const auto error_with = [](const std::string& first) {
    std::string text = test::contents(shapes / "mistral-7b.json");
    text.insert(1, first);
    return first_error(text);
  };
  CHECK(error_with("\"layer_types\": [\"full_attention\"],").find("names 1 layers of 32") !=
        std::string::npos);
  CHECK(error_with("\"layer_types\": [\"linear_attention\"],").find("is not modelled") !=
        std::string::npos);
}

TEST_CASE("mutilated configurations are refused or read, never worse", "[huggingface]") {
  std::mt19937 random{7};
  std::vector<std::string> texts;
  for (const auto& file : std::filesystem::directory_iterator(shapes))
    texts.push_back(test::contents(file.path()));
  std::istringstream counts(test::contents(shapes.parent_path() / "families/counts.yaml"));
  for (std::string line; std::getline(counts, line);)
    if (const auto at = line.find("config: "); at != std::string::npos)
      texts.push_back(line.substr(at + 8));
  for (int round = 0; round < 4000; ++round) {
    std::string text = texts[random() % texts.size()];
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text.erase(at, 1 + random() % 20);
          break;
        case 1:
          text[at] = static_cast<char>(random() % 256);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
      }
      if (text.empty()) text = "{";
    }
    Diagnostics diagnostics;
    const auto model = import_text(text, diagnostics);
    // Text that is no JSON may still leave a tree, with an error beside it.
    CHECK((model.has_value() || !diagnostics.empty()));
    if (model) CHECK(model->shape.layers >= 1);
  }
}

TEST_CASE("a scenario says how the weights of a packed config.json rest", "[huggingface]") {
  const test::TemporaryFolder folder;
  const auto complaint = [&](const std::string& packed, const std::string& sections) {
    folder.write("config.json",
                 R"({"model_type": "llama", "hidden_size": 512, "intermediate_size": 1024,
 "num_attention_heads": 8, "num_hidden_layers": 2, "vocab_size": 1000, "quantization_config": {)" +
                     packed + "}}");
    LoadOptions options;
    options.purpose = Purpose::any;
    const std::string text =
        "schema: 1\nname: t\nmodel: ./config.json\ncluster: {host: dgx-h100, hosts: 1, fabric: "
        "{kind: single-switch, preset: ib-ndr}}\n" +
        sections;
    try {
      (void)load_scenario_text(text, "t.yaml", folder.path(), options);
    } catch (const ScenarioError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string gptq = R"("quant_method": "gptq", "bits": 4)";
  const std::string fp8 = R"("quant_method": "fp8", "weight_block_size": [128, 128])";
  const std::string training = "training: {sequence: 512, global_batch: 8}\n";
  const std::string serving =
      "serving: {requests: {rate: 1 per s, prompt: 8, output: 8, number: 8}";
  CHECK(complaint(gptq, training) ==
        "t.yaml:3:8: model: rests in 4 bits of GPTQ (quantization_config), and nothing says how "
        "weights rest here; write fine_tuning.frozen_format: gptq, or as-computed, or name the "
        "config.json of the model in 16 bits");
  CHECK(complaint(gptq, training + "fine_tuning: {frozen_format: as-computed}\n").empty());
  CHECK(complaint(fp8, training).empty());
  CHECK(test::has(complaint(fp8, serving + "}\n"),
                  "write serving.precision.weights: fp8-block, or bf16, or name"));
  CHECK(complaint(fp8, serving + ", precision: bf16}\n").empty());
  CHECK(test::has(complaint(R"("quant_method": "exl3")", serving + "}\n"),
                  "write serving.precision.weights: bf16, or name"));
}

}  // namespace foretrain
