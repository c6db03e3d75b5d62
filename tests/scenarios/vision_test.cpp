// SPDX-License-Identifier: Apache-2.0
// Vision towers in models, scenarios and configurations of Hugging Face models.
#include <catch2/catch.hpp>

#include <string>

#include "models/layers/vision_tower.hpp"
#include "scenarios/huggingface/huggingface.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "scenarios/sections/scenario_text.hpp"

namespace foretrain {
namespace {

const std::string tower_keys =
    "vision: {layers: 2, hidden: 8, heads: 2, mlp_hidden: 16, patch: 4, merge: 2, tokens: 4}";

std::string vision_scenario(const std::string& tower, const std::string& images,
                            const std::string& more = "") {
  return "schema: 1\nname: t\nmodel:\n  name: m\n  layers: 4\n  hidden: 256\n"
         "  attention: {heads: 2}\n  mlp: {hidden: 512, gated: true}\n" +
         (tower.empty() ? "" : "  " + tower + "\n") +
         "  embedding: {vocabulary: 1000, tied: true, position: rotary}\n"
         "  norm: {kind: rmsnorm}\n"
         "cluster: {host: dgx-h100, hosts: 1, fabric: {kind: single-switch, preset: ib-ndr}}\n"
         "training: {sequence: 4096, global_batch: 8" +
         images + "}\nparallel: {}\n" + more;
}

std::string vision_complaint(const std::string& text) {
  try {
    (void)load_scenario_text(text, "t.yaml", ".", {});
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

HuggingFaceModel vision_config(const std::string& text) {
  Diagnostics diagnostics;
  const auto root = parse_yaml(text, "config.json", YamlLimits{}, diagnostics);
  REQUIRE(root);
  auto model = import_huggingface(*root, {"model"}, diagnostics);
  for (const Diagnostic& each : diagnostics.items()) UNSCOPED_INFO(each.text());
  REQUIRE(model);
  return *model;
}

std::string text_part(int hidden, const std::string& type) {
  return "\"text_config\": {\"model_type\": \"" + type + "\", \"num_hidden_layers\": 4, " +
         "\"hidden_size\": " + std::to_string(hidden) +
         ", \"num_attention_heads\": 8, \"num_key_value_heads\": 8, \"head_dim\": 128, "
         "\"intermediate_size\": 512, \"vocab_size\": 1000, \"tie_word_embeddings\": true}";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a vision tower in a scenario is read, and written as it was", "[scenarios][vision]") {
  const std::string text = vision_scenario(
      "vision: {layers: 27, hidden: 1152, heads: 16, mlp_hidden: 4304, bias: true, final_norm: "
      "true, patch: 14, patch_bias: true, positions: 4096, tokens: 256, merge: 4, pooled: true, "
      "projector_norm: rmsnorm}",
      ", images: {per_sequence: 2.5, tokens: 64}",
      "fine_tuning: {trained: [attention, projector]}\n");
  const Scenario read = load_scenario_text(text, "t.yaml", ".", {});
  REQUIRE(read.job.model.vision);
  CHECK(read.job.model.vision->positions == 4096);
  CHECK(read.job.training.images == Images{2.5, 64});
  CHECK(read.job.fine_tuning.trains(ModelPart::projector));
  CHECK_FALSE(read.job.fine_tuning.trains(ModelPart::vision));
  const std::string written = scenario_text({read.job, "", {}});
  CHECK(says(written, "images: {per_sequence: 2.5, tokens: 64}"));
  CHECK(says(written, "fine_tuning:\n  trained: [attention, projector]\n"));
  CHECK(says(model_shape_text(read.job.model),
             "vision: {layers: 27, hidden: 1152, heads: 16, mlp_hidden: 4304, bias: true, "
             "final_norm: true, patch: 14, patch_bias: true, positions: 4096, tokens: 256, merge: "
             "4, pooled: true, projector_norm: rmsnorm}\n"));
}

TEST_CASE("every key of a vision tower is written", "[scenarios][vision]") {
  const std::string all =
      "vision: {layers: 3, hidden: 16, heads: 2, kv_heads: 1, head_dim: 4, mlp_hidden: 24, "
      "mlp_gated: true, bias: true, norm: rmsnorm, norms_per_layer: 4, qk_norm: true, first_norm: "
      "true, final_norm: true, rotary: true, window: 64, full_attention_every: 3, patch: 16, "
      "channels: 4, frames: 2, patch_bias: true, positions: 9, tokens: 25, merge: 2, pooled: true, "
      "projector_norm: layernorm, merger_hidden: 5, projector_hidden: 6, projector_bias: true, "
      "inner_projectors: 2}";
  const Scenario read = load_scenario_text(vision_scenario(all, ""), "t.yaml", ".", {});
  CHECK(says(model_shape_text(read.job.model), all + "\n"));
}

TEST_CASE("images that no tower reads, or that do not say their size, are refused at their line",
          "[scenarios][vision]") {
  const std::string images = ", images: {per_sequence: 2}";
  CHECK(vision_complaint(vision_scenario(tower_keys, images)).empty());
  const std::string none = vision_complaint(vision_scenario("", images));
  CHECK(says(none, "t.yaml:12:68: training.images.per_sequence: "));
  CHECK(says(none, ": m has no vision tower that could read images"));
  CHECK(says(vision_complaint(vision_scenario(
                 "vision: {layers: 2, hidden: 8, heads: 2, mlp_hidden: 16, patch: 4}", images)),
             "training.images.per_sequence: the images of m have no fixed size; "
             "training.images.tokens"));
  CHECK(says(vision_complaint(vision_scenario(tower_keys, ", images: {tokens: 4}")),
             "training.images.tokens: has no effect without per_sequence"));
  CHECK(says(
      vision_complaint(vision_scenario(tower_keys, "", "fine_tuning: {trained: [mlp, vision]}\n")),
      "fine_tuning.trained: names a vision tower or its projector, but no images"));
  CHECK(says(vision_complaint(vision_scenario(
                 "vision: {layers: 2, hidden: 9, heads: 2, mlp_hidden: 16, patch: 4}", "")),
             "vision.heads: 2 do not divide vision.hidden 9"));
  CHECK(says(vision_complaint(vision_scenario("vision: {layers: 2}", "")),
             "vision.hidden: required key is missing"));
  CHECK(says(vision_complaint(vision_scenario(
                 "vision: {layers: 2, hidden: 8, heads: 2, mlp_hidden: 16, patch: 4, "
                 "full_attention_every: 2}",
                 "")),
             "vision.full_attention_every: has no effect without vision.window"));
}

TEST_CASE("configurations of open models carry their vision towers", "[huggingface][vision]") {
  // Gemma 3 4B: 4,300,079,472 parameters in all, 3,880,263,168 of them of its language model.
  const HuggingFaceModel gemma = vision_config(
      "{\"model_type\": \"gemma3\", \"mm_tokens_per_image\": 256, " +
      text_part(2560, "gemma3_text") +
      ", \"vision_config\": {\"model_type\": \"siglip_vision_model\", \"hidden_size\": 1152, "
      "\"image_size\": 896, \"intermediate_size\": 4304, \"num_attention_heads\": 16, "
      "\"num_hidden_layers\": 27, \"patch_size\": 14}}");
  REQUIRE(gemma.shape.vision);
  CHECK(tower_parameters(*gemma.shape.vision, 2560).total() == 4'300'079'472 - 3'880'263'168);
  CHECK(gemma.shape.vision->tokens == 256);

  // Mistral Small 3.1 24B: 24,011,361,280 parameters, 23,572,403,200 of Mistral Small 3.
  const HuggingFaceModel mistral = vision_config(
      "{\"model_type\": \"mistral3\", \"spatial_merge_size\": 2, \"multimodal_projector_bias\": "
      "false, " +
      text_part(5120, "mistral") +
      ", \"vision_config\": {\"model_type\": \"pixtral\", \"head_dim\": 64, \"hidden_size\": 1024, "
      "\"image_size\": 1540, \"intermediate_size\": 4096, \"num_attention_heads\": 16, "
      "\"num_hidden_layers\": 24, \"patch_size\": 14}}");
  REQUIRE(mistral.shape.vision);
  CHECK(tower_parameters(*mistral.shape.vision, 5120).total() == 24'011'361'280 - 23'572'403'200);
  CHECK(mistral.shape.vision->tokens == 0);

  // Qwen3-VL 4B: 4,437,815,808 parameters, 4,022,468,096 of them those of Qwen3 4B.
  const HuggingFaceModel qwen = vision_config(
      "{\"model_type\": \"qwen3_vl\", " + text_part(2560, "qwen3_vl_text") +
      ", \"vision_config\": {\"model_type\": \"qwen3_vl\", \"deepstack_visual_indexes\": [5, 11, "
      "17], \"depth\": 24, \"hidden_size\": 1024, \"in_channels\": 3, \"intermediate_size\": 4096, "
      "\"num_heads\": 16, \"num_position_embeddings\": 2304, \"out_hidden_size\": 2560, "
      "\"patch_size\": 16, \"spatial_merge_size\": 2, \"temporal_patch_size\": 2}}");
  REQUIRE(qwen.shape.vision);
  CHECK(tower_parameters(*qwen.shape.vision, 2560).total() == 4'437'815'808 - 4'022'468'096);
  CHECK(qwen.shape.vision->inner_projectors == 3);
}

TEST_CASE("a vision tower that is not understood leaves the language model",
          "[huggingface][vision]") {
  const std::string head = "{\"model_type\": \"gemma3\", " + text_part(2560, "gemma3_text");
  const auto told = [&](const std::string& tower, const std::string& part) {
    const HuggingFaceModel read = vision_config(head + ", \"vision_config\": " + tower + "}");
    CHECK_FALSE(read.shape.vision);
    for (const std::string& sentence : read.assumed)
      if (says(sentence, part)) return true;
    return false;
  };
  CHECK(told("{\"model_type\": \"new\", \"hidden_size\": 8}",
             "vision_config is left out: a vision tower of a kind that is not read"));
  CHECK(told("{\"model_type\": \"pixtral\", \"hidden_size\": 8}",
             "vision_config is left out: num_hidden_layers is missing"));
}

}  // namespace foretrain
