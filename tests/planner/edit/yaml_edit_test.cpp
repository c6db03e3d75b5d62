// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "planner/edit/scenario_text.hpp"
#include "planner/edit/yaml_edit.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

std::string set(const std::string& text, const std::string& path, const std::string& value) {
  const TextEdit edit = set_value(text, path, value);
  INFO(edit.problem);
  REQUIRE(edit.text.has_value());
  return *edit.text;
}

std::string removed(const std::string& text, const std::string& path) {
  const TextEdit edit = remove_value(text, path);
  INFO(edit.problem);
  REQUIRE(edit.text.has_value());
  return *edit.text;
}

}  // namespace

TEST_CASE("an edited key keeps every other character", "[planner][yaml]") {
  const std::string text =
      "# why\nparallel:\n  tensor: 8     # NVLink\n\n  pipeline: 4\nmodel: 'llama2-70b' # the "
      "\"big\" one\n";
  CHECK(set(text, "parallel.tensor", "4") ==
        "# why\nparallel:\n  tensor: 4     # NVLink\n\n  pipeline: 4\nmodel: 'llama2-70b' # the "
        "\"big\" one\n");
  CHECK(set(text, "model", "llama3-8b") ==
        "# why\nparallel:\n  tensor: 8     # NVLink\n\n  pipeline: 4\nmodel: llama3-8b # the "
        "\"big\" one\n");
}

TEST_CASE("keys in braces are edited, added in reference order, and removed", "[planner][yaml]") {
  const std::string text = "cluster:\n  fabric: {kind: fat-tree, oversubscription: 1.0}  # two\n";
  CHECK(set(text, "cluster.fabric.kind", "torus") ==
        "cluster:\n  fabric: {kind: torus, oversubscription: 1.0}  # two\n");
  CHECK(set(text, "cluster.fabric.preset", "ib-ndr") ==
        "cluster:\n  fabric: {kind: fat-tree, preset: ib-ndr, oversubscription: 1.0}  # two\n");
  CHECK(set("a: 1\ncluster: {}\n", "cluster.hosts", "4") == "a: 1\ncluster: {hosts: 4}\n");
  CHECK(removed(text, "cluster.fabric.kind") ==
        "cluster:\n  fabric: {oversubscription: 1.0}  # two\n");
  CHECK(removed(text, "cluster.fabric.oversubscription") ==
        "cluster:\n  fabric: {kind: fat-tree}  # two\n");
}

TEST_CASE("a new key stands behind those before it in the reference", "[planner][yaml]") {
  const std::string text =
      "parallel:\n  tensor: 8\n  data: 16   # all\nmemory:\n  attention: flash\n";
  CHECK(set(text, "parallel.pipeline", "4") ==
        "parallel:\n  tensor: 8\n  pipeline: 4\n  data: 16   # all\nmemory:\n  attention: flash\n");
  CHECK(set(text, "memory.recompute.layers", "2") ==
        "parallel:\n  tensor: 8\n  data: 16   # all\nmemory:\n  recompute:\n    layers: 2\n"
        "  attention: flash\n");
  CHECK(set(text, "operations.price", "2 USD/GPU-hour") ==
        text + "operations:\n  price: 2 USD/GPU-hour\n");
  CHECK(set("name: x", "model", "y") == "name: x\nmodel: y");
  CHECK(set("", "model", "y") == "model: y\n");
  CHECK(set("communication:\nname: x\n", "communication.backend", "gloo") ==
        "communication:\n  backend: gloo\nname: x\n");
}

TEST_CASE("a group in short form is replaced, and grows braces for a second key",
          "[planner][yaml]") {
  const std::string text = "memory:\n  recompute: full   # all\n  attention: flash\n";
  CHECK(set(text, "memory.recompute.granularity", "none") ==
        "memory:\n  recompute: none   # all\n  attention: flash\n");
  CHECK(set(text, "memory.recompute.layers", "2") ==
        "memory:\n  recompute: {granularity: full, layers: 2}   # all\n  attention: flash\n");
  CHECK(removed(text, "memory.recompute.granularity") == "memory:\n  attention: flash\n");
}

TEST_CASE("the last key of a group takes the group along", "[planner][yaml]") {
  CHECK(removed("name: x\nmemory:\n  recompute:\n    layers: 2\nsite: y\n",
                "memory.recompute.layers") == "name: x\nsite: y\n");
  CHECK(removed("name: x\n", "memory.attention") == "name: x\n");
}

TEST_CASE("line ends, byte order marks and letters beyond ASCII survive", "[planner][yaml]") {
  CHECK(set("# größer\r\nname: é  # ü\r\nmodel: a\r\n", "stack", "b") ==
        "# größer\r\nname: é  # ü\r\nmodel: a\r\nstack: b\r\n");
  CHECK(set("\xEF\xBB\xBFname: x\nmodel: a\n", "name", "y") == "\xEF\xBB\xBFname: y\nmodel: a\n");
  CHECK(set("name: é # ü\n", "name", "ñandú") == "name: ñandú # ü\n");
}

TEST_CASE("values that a brace would end are quoted", "[planner][yaml]") {
  CHECK(set("a: {name: x}\n", "name", "\"a: b\"") == "name: \"a: b\"\na: {name: x}\n");
  CHECK(yaml_scalar("plain text") == "plain text");
  CHECK(yaml_scalar("a: b") == "\"a: b\"");
  CHECK(yaml_scalar("a #b") == "\"a #b\"");
  CHECK(yaml_scalar("") == "\"\"");
  CHECK(yaml_scalar("say \"x\\y\"") == "say \"x\\y\"");
  CHECK(yaml_scalar("\"x\"") == "\"\\\"x\\\"\"");
}

TEST_CASE("what cannot be edited safely is refused with the reason", "[planner][yaml]") {
  CHECK_THAT(set_value("a: [1,\n", "name", "x").problem, Catch::Contains("line 2"));
  CHECK_THAT(set_value("a: 1\n", "name", "x\ny: 2").problem, Catch::Contains("one line"));
  CHECK_THAT(set_value("budget: []\n", "budget[0].max", "1").problem, Catch::Contains("list"));
  CHECK_THAT(set_value("parallel: 4\n", "parallel.tensor", "2").problem,
             Catch::Contains("parallel is not a group"));
  CHECK_THAT(set_value("name: one\n  two\nmodel: x\n", "name", "y").problem,
             Catch::Contains("text editor"));
  CHECK_THAT(set_value("name: x\n", "name", "[").problem, Catch::Contains("is not a value"));
  CHECK_THAT(apply_settings("name: x\n", {"name"}).problem, Catch::Contains("key=value"));
}

TEST_CASE("a list over several lines is replaced as a whole", "[planner][yaml]") {
  CHECK(set("budget:\n  - metric: a\n    max: 1\n  # tail\nsite: x\n", "budget",
            "[{metric: b, min: 2}]") == "budget: [{metric: b, min: 2}]\n  # tail\nsite: x\n");
}

TEST_CASE("every key of every shipped scenario can be written again and taken away",
          "[planner][yaml]") {
  const auto examples = example_scenarios();
  REQUIRE(examples.size() >= 9);
  for (const ExampleScenario& example : examples) {
    const std::string text = test::contents(example.file);
    for (const GivenValue& value : given_values(text)) {
      INFO(example.name << " " << value.path << " " << value.text);
      const bool list = value.text.starts_with("[") || value.text.starts_with("{");
      CHECK_FALSE(set(text, value.path, list ? value.text : yaml_scalar(value.text)).empty());
      const std::string without = removed(text, value.path);
      for (const GivenValue& left : given_values(without)) CHECK(left.path != value.path);
      CHECK(given_values(without).size() + 1 == given_values(text).size());
    }
  }
}

TEST_CASE("given values stand at their places", "[planner][yaml]") {
  const auto values = given_values("name: x\nmemory: {recompute: full, attention: flash}\n");
  REQUIRE(values.size() == 3);
  CHECK(values[1].path == "memory.recompute.granularity");
  CHECK(values[1].text == "full");
  CHECK(values[1].line == 2);
  CHECK(values[1].column == 21);
  CHECK(given_values("a: [").empty());
}

TEST_CASE("legal values are told without Markdown", "[planner][yaml]") {
  const Field* field = scenario_table().find("memory.offload");
  REQUIRE(field != nullptr);
  CHECK(legal_values(*field) == "none, optimizer, optimizer+parameters, paged");
  CHECK(catalog_of_key("cluster.host") == "hosts");
  CHECK(catalog_of_key("parallel.tensor").empty());
}

TEST_CASE("configurations of others become texts that an editor can open", "[planner][yaml]") {
  const test::TemporaryFolder folder;
  const auto config = folder / "My Model/config.json";
  folder.write("My Model/config.json", R"({"model_type": "llama", "hidden_size": 4096,
    "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 32, "vocab_size": 32000, "max_position_embeddings": 4096})");
  const ImportedModel model = import_model_config(config, "", "2026-11-21");
  CHECK(model.name == "my-model");
  CHECK_THAT(model.text, Catch::Contains("2026-11-21"));
  std::ofstream(config) << "{";
  CHECK_THROWS_AS(import_model_config(config, "", "2026-11-21"), ScenarioError);

  const auto script = folder / "pretrain.sh";
  std::ofstream(script) << "torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py "
                           "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 "
                           "--seq-length 2048 --max-position-embeddings 2048 "
                           "--micro-batch-size 4 --global-batch-size 256 "
                           "--tensor-model-parallel-size 1 --bf16\n";
  REQUIRE(importable_frameworks().front().second == "Megatron-LM");
  const ImportedRun run = import_run_config("megatron", script, "dgx-h100", 16);
  const Scenario scenario = load_scenario_text(run.text, "run.yaml", folder.path());
  CHECK(scenario.job.cluster.gpus() == 16);
  CHECK_THROWS_AS(import_run_config("megatron", folder / "none.sh", "dgx-h100", {}), ScenarioError);
}

}  // namespace foretrain
