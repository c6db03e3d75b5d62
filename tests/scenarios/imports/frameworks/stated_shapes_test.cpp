// SPDX-License-Identifier: Apache-2.0
// Shapes and values that configurations state by key or by reference.
#include <catch2/catch.hpp>

#include "models/layers/parameters.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using test::has;

ImportedScenario stated(Framework framework, const std::string& text) {
  PlanImportOptions options;
  options.gpus = 64;
  options.host = "dgx-h100";
  return import_framework(framework, text, "run.yml", options);
}

std::string refusal_of_stated(Framework framework, const std::string& text) {
  try {
    (void)stated(framework, text);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

/// Sizes as src/maxtext/configs/models/llama3.1-8b.yml states them.
constexpr const char* llama_sizes =
    "base_emb_dim: 4096\nbase_num_query_heads: 32\nbase_num_kv_heads: 8\n"
    "base_num_decoder_layers: 32\nbase_mlp_dim: 14336\nhead_dim: 128\n"
    "mlp_activations: [silu, linear]\nvocab_size: 128256\nlogits_via_embedding: false\n"
    "decoder_block: llama2\nnormalization_layer_epsilon: 1.0e-5\nper_device_batch_size: 1\n";

}  // namespace

TEST_CASE("MaxText's sizes make a model", "[scenarios][import]") {
  CHECK(parameters(stated(Framework::maxtext, llama_sizes).scenario.job.model) == 8'030'261'248);
  const Job cut = stated(Framework::maxtext,
                         "model_name: mixtral-8x7b\nbase_num_decoder_layers: 4\n"
                         "per_device_batch_size: 1\n")
                      .scenario.job;
  CHECK(cut.model.layers == 4);
  CHECK(cut.model.moe->experts == 8);
  const Job experts = stated(Framework::maxtext, std::string(llama_sizes) +
                                                     "num_experts: 8\nnum_experts_per_tok: 2\n"
                                                     "base_moe_mlp_dim: 1024\n")
                          .scenario.job;
  CHECK(experts.model.moe->top_k == 2);
  CHECK(experts.model.moe->expert_ffn_hidden == 1024);
  CHECK(has(refusal_of_stated(Framework::maxtext, "base_emb_dim: 3584\ndecoder_block: gemma2\n"),
            "not modelled with sizes of its own"));
  CHECK(has(refusal_of_stated(Framework::maxtext, "model_name: my-own\nbase_emb_dim: 3584\n"),
            "sizes that are not stated"));
}

TEST_CASE("references of OmegaConf are what they refer to", "[scenarios][import]") {
  Diagnostics none;
  auto root = parse_yaml(
      "model:\n  encoder_seq_length: 4096\n  positions: ${.encoder_seq_length}\n"
      "  data:\n    seq_length: ${model.positions}\n    outer: ${..encoder_seq_length}\n"
      "    open: ${oc.env:HOME}\n    lost: ${.nothing}\n",
      "nemo.yaml", YamlLimits{}, none);
  REQUIRE(root);
  resolve_references(*root);
  for (const char* path : {"model.positions", "model.data.seq_length", "model.data.outer"})
    CHECK(node_at(*root, path)->text == "4096");
  CHECK(node_at(*root, "model.data.open")->text == "${oc.env:HOME}");
  CHECK(node_at(*root, "model.data.lost")->text == "${.nothing}");
}

TEST_CASE("vision towers that train, and pictures, are refused", "[scenarios][import]") {
  const std::string swift = "model: Qwen/Qwen3-8B\n";
  CHECK(has(refusal_of_stated(Framework::swift, swift + "freeze_vit: false\n"), "vision tower"));
  CHECK(refusal_of_stated(Framework::swift, swift + "freeze_vit: true\n").empty());
  CHECK(has(refusal_of_stated(Framework::swift, swift + "max_pixels: 1003520\n"), "pictures"));
  CHECK(has(refusal_of_stated(Framework::llamafactory,
                              "model_name_or_path: Qwen/Qwen3-8B\nimage_max_pixels: 262144\n"),
            "pictures or sounds"));
}

}  // namespace foretrain
