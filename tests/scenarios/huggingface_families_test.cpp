// SPDX-License-Identifier: Apache-2.0
// Families of configurations (families.yaml): counts of open models, and rows of one's own.
#include "models/layers/parameters.hpp"
#include "scenarios/huggingface/huggingface.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>

#include "scenarios/catalog/catalog_models.hpp"
#include "scenarios/sections/scenario_text.hpp"
#include "scenarios/yaml/units_text.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

struct ReadFamily {
  std::optional<HuggingFaceModel> model;
  std::string error;  ///< the first one
};

ReadFamily read_tree(const YamlNode& root, const HuggingFaceRequest& request) {
  Diagnostics diagnostics;
  ReadFamily read{import_huggingface(root, request, diagnostics), {}};
  if (!diagnostics.empty()) read.error = diagnostics.items().front().text();
  return read;
}

ReadFamily read_family(const std::string& text, const HuggingFaceRequest& request = {"model"}) {
  Diagnostics diagnostics;
  const auto root = parse_yaml(text, "config.json", YamlLimits{}, diagnostics);
  REQUIRE(root);
  return read_tree(*root, request);
}

/// The model as the catalog reads back what is written of it.
LlmShape catalog_shape(const HuggingFaceModel& model) {
  const test::TemporaryFolder folder;
  folder.write("model.yaml", model_catalog_text(model, "a file", "2026-11-27"));
  Diagnostics diagnostics;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{{}, folder.path(), diagnostics, files, values};
  const auto entry = load_model_entry({"./model.yaml", "model", {}}, context);
  for (const Diagnostic& each : diagnostics.items()) UNSCOPED_INFO(each.text());
  CHECK(entry);
  return entry ? entry->shape : LlmShape{};
}

bool tells(const HuggingFaceModel& model, const std::string& words) {
  for (const std::string& sentence : model.assumed)
    if (sentence.find(words) != std::string::npos) return true;
  return false;
}

const std::string plain =
    "\"num_hidden_layers\": 4, \"hidden_size\": 64, \"num_attention_heads\": 4, "
    "\"intermediate_size\": 128, \"vocab_size\": 1000, \"tie_word_embeddings\": false";

}  // namespace

TEST_CASE("configurations of open models have the parameters that their layers add up to",
          "[huggingface][families]") {
  const auto file =
      std::filesystem::path(FORETRAIN_SOURCE_DIR) / "tests/scenarios/families/counts.yaml";
  Diagnostics diagnostics;
  const auto table = parse_yaml(test::contents(file), "counts.yaml", YamlLimits{}, diagnostics);
  REQUIRE(table);
  for (const YamlNode& row : table->find("models")->items) {
    INFO(row.find("name")->text);
    const ReadFamily read = read_tree(*row.find("config"), {"model"});
    CHECK(read.error == "");
    if (!read.model) continue;
    CHECK(parameters(read.model->shape) ==
          std::llround(*parse_number(row.find("parameters")->text).value));
    CHECK(joined(read.model->unknown) == "");
    const LlmShape again = catalog_shape(*read.model);
    CHECK(parameters(again) == parameters(read.model->shape));
    CHECK(model_shape_text(again) == model_shape_text(read.model->shape));
  }
}

TEST_CASE("a family is added as a row in a catalog folder, without code",
          "[huggingface][families]") {
  const test::TemporaryFolder folder;
  folder.write("families.yaml",
               "schema: 1\nfamilies:\n"
               "  - type: my_moe\n    like: qwen3\n    experts: true\n"
               "    keys: {moe.experts: [how_many], moe.top_k: [how_few], hidden: [wide]}\n"
               "    defaults: {moe.expert_hidden: mlp.hidden, attention.kv_heads: 2}\n"
               "    idle: [my_note]\n"
               "    refused: [{keys: [my_trick], missing: a trick}]\n");
  const std::string text =
      "{\"model_type\": \"my_moe\", \"wide\": 64, \"how_many\": 8, \"how_few\": 2, \"my_note\": 1, "
      "\"new_key\": 1, \"num_hidden_layers\": 4, \"num_attention_heads\": 4, "
      "\"intermediate_size\": 128, \"vocab_size\": 1000";
  const HuggingFaceRequest request{"model", {}, {folder.path()}};
  CHECK_FALSE(read_family(text + "}").model);
  const ReadFamily read = read_family(text + "}", request);
  CHECK(read.error.empty());
  REQUIRE(read.model);
  CHECK(read.model->shape.qk_norm);
  CHECK(read.model->shape.kv_heads == 2);
  CHECK(read.model->shape.moe->expert_ffn_hidden == 128);
  CHECK(read.model->unknown == std::vector<std::string>{"new_key"});
  CHECK(read.model->ignored == std::vector<std::string>{"my_note"});
  CHECK(read_family(text + ", \"my_trick\": true}", request).error.find("not modelled: a trick") !=
        std::string::npos);
  CHECK(read_family(text + ", \"my_trick\": false}", request).model);
}

TEST_CASE("a broken row is told at its line", "[huggingface][families]") {
  const auto error_of = [](const std::string& row) {
    const test::TemporaryFolder folder;
    folder.write("families.yaml", "schema: 1\nfamilies:\n  - " + row + "\n");
    try {
      static_cast<void>(huggingface_model_types({folder.path()}));
    } catch (const ScenarioError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(error_of("{type: mine, like: lama}").find("names no row before it: 'lama'") !=
        std::string::npos);
  CHECK(error_of("{type: mine, like: mine}").find("names no row before it") != std::string::npos);
  CHECK(error_of("{type: mine, keys: {moe.topk: [k]}}").find("did you mean 'moe.top_k'?") !=
        std::string::npos);
}

TEST_CASE("a file is read as another family where that is asked for, and says so",
          "[huggingface][families]") {
  const std::string text = "{\"model_type\": \"brand_new\", " + plain + "}";
  const std::string error = read_family(text).error;
  CHECK(error.find("model_type: 'brand_new' is not understood") != std::string::npos);
  CHECK(error.find("--as llama") != std::string::npos);
  const ReadFamily read = read_family(text, {"model", "qwen3"});
  REQUIRE(read.model);
  CHECK(read.model->shape.qk_norm);
  CHECK(tells(*read.model, "read as qwen3 (--as), not as 'brand_new'"));
  CHECK(read_family(text, {"model", "qwenn3"}).error.find("did you mean 'qwen3'?") !=
        std::string::npos);
  // By the keys where no name is near.
  CHECK(read_family("{\"model_type\": \"x\", \"kv_lora_rank\": 512, " + plain + "}")
            .error.find("--as deepseek_v3") != std::string::npos);
  CHECK(read_family("{\"model_type\": \"x\", \"linear_num_value_heads\": 32, "
                    "\"num_experts\": 4, " +
                    plain + "}")
            .error.find("--as qwen3_next") != std::string::npos);
}

TEST_CASE("what a family or a file needs beyond the model is refused by name",
          "[huggingface][families]") {
  CHECK(
      read_family("{\"model_type\": \"inkling_text\", " + plain + "}")
          .error.find("'inkling_text' is not read: it needs short convolutions inside attention") !=
      std::string::npos);
  CHECK(read_family("{\"model_type\": \"gemma3n\", \"text_config\": {" + plain + "}}")
            .error.find("AltUp") != std::string::npos);
  CHECK(read_family("{\"model_type\": \"llama\", \"swa_head_dim\": 2, " + plain + "}")
            .error.find("swa_head_dim: is not modelled: heads that differ between layers") !=
        std::string::npos);
  CHECK(read_family("{\"model_type\": \"llama\", \"swa_head_dim\": null, " + plain + "}").model);
  const auto shared =
      read_family("{\"model_type\": \"llama\", \"num_kv_shared_layers\": 2, " + plain + "}");
  REQUIRE(shared.model);
  CHECK(shared.model->shape.special_layers.at(0).shared_keys);
  CHECK(shared.model->shape.special_pattern == "..aa");
  const std::string lists = "{\"model_type\": \"hunyuan_v1_moe\", \"num_experts\": 4, " + plain;
  CHECK(read_family(lists + ", \"moe_topk\": [2, 2, 2, 2]}").model->shape.moe->top_k == 2);
  CHECK(read_family(lists + ", \"moe_topk\": [2, 2, 2, 1]}")
            .error.find("moe_topk: differs between layers") != std::string::npos);
  const ReadFamily params = read_family(
      "{\"dim\": 64, \"n_layers\": 4, \"n_heads\": 4, \"hidden_dim\": 128, \"vocab_size\": 1000, "
      "\"rope_theta\": 10000.0, \"yarn\": {\"factor\": 36, "
      "\"original_max_position_embeddings\": 8192}}");
  REQUIRE(params.model);
  CHECK(params.model->shape.numbers.rope_scaling == RopeScaling::yarn);
  CHECK(params.model->shape.numbers.rope_factor == 36.0);
  CHECK(read_family("{\"model_type\": \"mistral\", \"sliding_window\": 8, "
                    "\"sliding_window_pattern\": \"LLLG\", " +
                    plain + "}")
            .model->shape.full_attention_every == 4);
}

TEST_CASE("a list of mixers becomes the pattern that repeats", "[huggingface][families]") {
  const auto pattern_of = [](const std::string& list) {
    return read_family(
               "{\"model_type\": \"qwen3_5_text\", \"linear_num_key_heads\": 2, "
               "\"linear_num_value_heads\": 4, \"linear_key_head_dim\": 8, "
               "\"linear_value_head_dim\": 8, " +
               plain + ", \"layer_types\": " + list + "}")
        .model->shape.mixer_pattern;
  };
  CHECK(pattern_of("[linear_attention, full_attention, linear_attention, full_attention]") == "G*");
  CHECK(pattern_of("[linear_attention, linear_attention, linear_attention, full_attention]") ==
        "GGG*");
  CHECK(pattern_of("[linear_attention, linear_attention, linear_attention, linear_attention]") ==
        "G");
}

TEST_CASE("layers with experts are read from a list", "[huggingface][families]") {
  const std::string text =
      "{\"model_type\": \"glm4_moe\", \"n_routed_experts\": 4, \"num_experts_per_tok\": 2, "
      "\"moe_intermediate_size\": 32, " +
      plain + ", \"mlp_layer_types\": ";
  const ReadFamily read = read_family(text + "[dense, sparse, sparse, sparse]}");
  REQUIRE(read.model);
  CHECK(read.model->shape.moe->first_dense_layers == 1);
  CHECK(read.model->shape.moe->every == 1);
  CHECK(read_family(text + "[dense, sparse, dense, sparse]}").model->shape.moe->every == 2);
  CHECK(read_family(text + "[sparse, sparse, dense, sparse]}")
            .error.find("mlp_layer_types: experts are modelled in one layer of every so many") !=
        std::string::npos);
  CHECK(read_family(text + "\"\"}").model);
  CHECK(read_family("{\"model_type\": \"llama\", \"layer_types\": \"\", " + plain + "}")
            .error.find("layer_types: names 0 layers of 4") != std::string::npos);
  CHECK(read_family(text + "[dense, sparse]}").error.find("names 2 layers of 4") !=
        std::string::npos);
}

TEST_CASE("a file of text and images: text and tower are read", "[huggingface][families]") {
  const std::string head = "{\"model_type\": \"qwen3_vl\", \"tie_word_embeddings\": true, ";
  const std::string text =
      "\"text_config\": {\"num_hidden_layers\": 4, \"hidden_size\": 64, "
      "\"num_attention_heads\": 4, \"intermediate_size\": 128, \"vocab_size\": 1000}";
  const ReadFamily read = read_family(
      head + text +
      ", \"vision_config\": {\"depth\": 24, \"hidden_size\": 1024, \"intermediate_size\": 4096, "
      "\"num_heads\": 16, \"num_position_embeddings\": 2304, \"patch_size\": 16, "
      "\"spatial_merge_size\": 2, \"temporal_patch_size\": 2, \"deepstack_visual_indexes\": []}}");
  REQUIRE(read.model);
  CHECK(read.model->shape.tied_embeddings);
  // 24 * (4 * 1024^2 + 2 * 1024 * 4096) + 16 * 16 * 3 * 2 * 1024 = 303,562,752 and vectors; the
  // projector 4096 * (4096 + 64)
  CHECK(tells(*read.model,
              "a vision tower of 306 M parameters and projectors of 17 M are held and computed "
              "where training.images states images, with their tokens"));
  CHECK_FALSE(tells(*read.model, "outside of text_config"));
  CHECK(tells(*read_family(head + text + ", \"vocab_size\": 2000}").model,
              "vocab_size outside of text_config is not read"));
  const ReadFamily other = read_family(head + text + ", \"vision_config\": {\"depth\": 24}}");
  CHECK(tells(*other.model, "vision_config is left out"));
}

TEST_CASE("a model is called by its path, its file or its folder", "[huggingface][families]") {
  const auto name = [](const std::string& path, const std::string& file) {
    Diagnostics diagnostics;
    const auto root =
        parse_yaml("{\"_name_or_path\": \"" + path + "\"}", "c", YamlLimits{}, diagnostics);
    return huggingface_model_name(*root, file);
  };
  CHECK(name("Qwen/Qwen3-8B", "config.json") == "qwen3-8b");
  CHECK(name("./ckpt/", "config.json") == "ckpt");
  CHECK(name("", "models/My_Model/config.json") == "my-model");
  CHECK(name(".", "models/My_Model/./config.json") == "my-model");
  CHECK(name("", "own.json") == "own");
  CHECK(name("", "/config.json") == "model");
  const std::string here = name("", "./config.json");
  CHECK(here == name("", "config.json"));
  CHECK(here.find_first_not_of(".-") == 0);
}

}  // namespace foretrain
