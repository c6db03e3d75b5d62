// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/compose.hpp"
#include "scenarios/resolve/scenario.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "scenarios/sections/scenario_fields.hpp"
#include "scenarios/yaml/sha256.hpp"
#include "tests/temporary_folder.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

YamlNode tree(const std::string& text, const std::string& name = "f") {
  Diagnostics diagnostics;
  auto root = parse_yaml(text, name, YamlLimits{}, diagnostics);
  REQUIRE(root.has_value());
  REQUIRE(diagnostics.empty());
  return std::move(*root);
}

struct Outcome {
  ComposedDocument document;
  std::vector<std::string> messages;
};

Outcome compose(const std::string& text, const fs::path& folder, const LoadOptions& options = {}) {
  Diagnostics diagnostics;
  Outcome outcome;
  outcome.document = compose_scenario(text, "child.yaml", folder, options, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.sorted())
    outcome.messages.push_back(diagnostic.text());
  return outcome;
}

using Messages = std::vector<std::string>;

TEST_CASE("merging: groups key by key, everything else replaced", "[scenarios]") {
  const YamlNode merged = merge_documents(
      tree("name: base\nparallel: {tensor: 8, stage_layers: [1, 2, 3]}\nbudget: [{metric: a}]\n",
           "base"),
      tree("parallel: {pipeline: 4, stage_layers: [6]}\nbudget: [{metric: b}]\n", "child"),
      scenario_fields());
  CHECK(merged.find("name")->text == "base");
  CHECK(merged.find("parallel")->find("tensor")->text == "8");
  CHECK(merged.find("parallel")->find("pipeline")->text == "4");
  CHECK(merged.find("parallel")->find("stage_layers")->items.size() == 1);
  REQUIRE(merged.find("budget")->items.size() == 1);
  CHECK(merged.find("budget")->items[0].find("metric")->text == "b");
  CHECK(*merged.find("name")->mark.file == "base");
  CHECK(*merged.find("parallel")->find("pipeline")->mark.file == "child");
}

TEST_CASE("merging: the short form of a group and its long form meet", "[scenarios]") {
  const auto merged = [](const char* base, const char* over) {
    return merge_documents(tree(base), tree(over), scenario_fields());
  };
  const YamlNode refined =
      merged("memory: {recompute: full}\n", "memory: {recompute: {layers: 2}}\n");
  const YamlNode& recompute = *refined.find("memory")->find("recompute");
  REQUIRE(recompute.is_map());
  CHECK(recompute.find("granularity")->text == "full");
  CHECK(recompute.find("layers")->text == "2");
  const YamlNode replaced = merged("memory: {recompute: {granularity: full, layers: 2}}\n",
                                   "memory: {recompute: none}\n");
  CHECK(replaced.find("memory")->find("recompute")->text == "none");
}

TEST_CASE("extends: the nearest file wins, and every value keeps its file", "[scenarios]") {
  const test::TemporaryFolder folder;
  folder.write("a.yaml", "schema: 1\nextends: sub/b.yaml\ntraining: {sequence: 2048}\n");
  folder.write("sub/b.yaml",
               "schema: 1\nextends: c.yaml\ntraining: {sequence: 1024, micro_batch: 2}\n");
  folder.write("sub/c.yaml", "schema: 1\nname: c\ntraining: {global_batch: 64, micro_batch: 1}\n");
  const auto [document, messages] =
      compose("schema: 1\nextends: a.yaml\nname: child\n", folder.path());
  REQUIRE(messages.empty());
  CHECK(document.root.find("name")->text == "child");
  const YamlNode& training = *document.root.find("training");
  CHECK(training.find("sequence")->text == "2048");
  CHECK(training.find("sequence")->mark.origin() == "a.yaml:3");
  CHECK(training.find("micro_batch")->text == "2");
  CHECK(training.find("global_batch")->mark.origin() == "sub/c.yaml:3");
  REQUIRE(document.files.size() == 4);
  CHECK(document.files[0].path == "child.yaml");
  CHECK(document.files[0].sha256 == sha256_hex("schema: 1\nextends: a.yaml\nname: child\n"));
  CHECK(document.files[3].path == "sub/c.yaml");
}

TEST_CASE("extends: a base may lie in an extra catalog", "[scenarios]") {
  const test::TemporaryFolder folder;
  const test::TemporaryFolder catalog;
  catalog.write("shared.yaml", "schema: 1\nname: shared\n");
  const std::string up = "../" + catalog.path().filename().string() + "/shared.yaml";
  const std::string text = "schema: 1\nextends: " + up + "\n";
  CHECK(compose(text, folder.path()).messages.size() == 1);
  LoadOptions options;
  options.catalogs.push_back(catalog.path());
  CHECK(compose(text, folder.path(), options).messages.empty());
}

TEST_CASE("extends: a symbolic link does not lead out of the folder", "[scenarios][error]") {
  const test::TemporaryFolder folder;
  const test::TemporaryFolder outside;
  outside.write("secret.yaml", "schema: 1\nname: secret\n");
  fs::create_symlink(outside.path() / "secret.yaml", folder.path() / "file.yaml");
  fs::create_directory_symlink(outside.path(), folder.path() / "dir");
  for (const char* base : {"file.yaml", "dir/secret.yaml"}) {
    const auto messages =
        compose(std::string("schema: 1\nextends: ") + base + "\n", folder.path()).messages;
    CHECK(messages == Messages{std::string("child.yaml:2:10: extends: '") + base +
                               "' leads out of the scenario's folder; only files in it or below it "
                               "can be extended, or below --root DIR"});
  }
}

TEST_CASE("extends and model: a file reaches all of its repository, and nothing beyond",
          "[scenarios][error]") {
  const std::string whole =
      "schema: 1\nname: base\nmodel: llama3-8b\n"
      "cluster: {host: dgx-h100, hosts: 1, fabric: {kind: single-switch, preset: ib-ndr}}\n"
      "training: {sequence: 4096, global_batch: 64}\nparallel: {tensor: 2}\n";
  const std::string child = "schema: 1\nextends: ../base.yaml\nname: child\n";
  const test::TemporaryFolder outside;
  outside.write("base.yaml", whole);
  const test::TemporaryFolder folder;
  folder.write("base.yaml", whole);
  folder.write("runs/child.yaml", child);
  folder.write("runs/out.yaml",
               "schema: 1\nextends: ../../" + outside.path().filename().string() + "/base.yaml\n");
  fs::create_symlink(outside.path() / "base.yaml", folder.path() / "link.yaml");
  folder.write("runs/link.yaml", "schema: 1\nextends: ../link.yaml\n");
  folder.write(
      "model.yaml",
      "schema: 1\nname: model\ntitle: Model\nlayers: 2\nhidden: 64\nattention: {heads: 4}\n"
      "mlp: {hidden: 256, gated: false}\n"
      "embedding: {vocabulary: 1000, tied: true, position: rotary}\n"
      "norm: {kind: rmsnorm}\nsources:\n  - {covers: [layers, hidden, attention, mlp, "
      "embedding, norm], cite: this test, date: 2026-11-21}\n");
  std::string with_model = whole;
  with_model.replace(with_model.find("llama3-8b"), 9, "../model.yaml");
  folder.write("runs/model.yaml", with_model);
  const auto refusal = [&](const std::string& name, const LoadOptions& options = {}) {
    try {
      static_cast<void>(load_scenario(folder.path() / "runs" / name, options));
    } catch (const ScenarioError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const char* name : {"child.yaml", "model.yaml"})
    CHECK(refusal(name).find("leads out of the scenario's folder") != std::string::npos);
  const LoadOptions root{{}, {}, folder.path()};
  CHECK(load_scenario(folder.path() / "runs/child.yaml", root).job.parallel.tensor == 2);
  for (const char* mark : {".foretrain-root", ".git/HEAD"}) {
    folder.write(mark, "");
    CHECK(repository_of(folder.path() / "runs") == fs::canonical(folder.path()));
    CHECK(load_scenario(folder.path() / "runs/child.yaml").job.name == "child");
    CHECK(load_scenario(folder.path() / "runs/model.yaml").job.model.layers == 2);
    for (const char* name : {"out.yaml", "link.yaml"})
      CHECK(refusal(name).find("leads out of the scenario's repository") != std::string::npos);
    fs::remove_all(folder.path() / fs::path(mark).begin()->string());
  }
  // A text from elsewhere, standard input for example, belongs to no repository.
  folder.write(".foretrain-root", "");
  CHECK_THROWS_AS(load_scenario_text(child, "<stdin>", folder.path() / "runs"), ScenarioError);
}

TEST_CASE("extends: a sibling folder with the same start of name is outside",
          "[scenarios][error]") {
  const test::TemporaryFolder both;
  fs::create_directory(both / "twin");
  both.write("twin_b/x.yaml", "schema: 1\nname: x\n");
  CHECK(compose("schema: 1\nextends: ../twin_b/x.yaml\n", both / "twin").messages.size() == 1);
}

TEST_CASE("overrides: a later one wins, and says where it comes from", "[scenarios]") {
  LoadOptions options;
  options.overrides = {"parallel.tensor=4", "memory.recompute=full", "parallel.tensor=2",
                       "cluster.fabric={kind: torus}"};
  const auto [document, messages] =
      compose("schema: 1\nparallel: {tensor: 8, data: 2}\ncluster: {hosts: 2}\n", ".", options);
  REQUIRE(messages.empty());
  const YamlNode& tensor = *document.root.find("parallel")->find("tensor");
  CHECK(tensor.text == "2");
  CHECK(tensor.mark.origin() == "--set");
  CHECK(tensor.mark.line == 3);
  CHECK(tensor.mark.column == 17);
  CHECK(document.root.find("parallel")->find("data")->text == "2");
  CHECK(document.root.find("memory")->find("recompute")->text == "full");
  CHECK(document.root.find("cluster")->find("hosts")->text == "2");
  CHECK(document.root.find("cluster")->find("fabric")->find("kind")->text == "torus");
}

TEST_CASE("overrides: a value may hold an equals sign and blanks", "[scenarios]") {
  Diagnostics diagnostics;
  const auto over = parse_override("name=a = b", 1, scenario_fields(), diagnostics);
  REQUIRE(over.has_value());
  CHECK(over->find("name")->text == "a = b");
}

}  // namespace
TEST_CASE("an override without a value leaves a key out, and a later one sets it",
          "[scenarios][compose]") {
  const auto group = [](const std::vector<std::string>& overrides) {
    LoadOptions options;
    options.overrides = overrides;
    return load_scenario(FORETRAIN_SOURCE_DIR "/scenarios/llama3.1-405b-256xgb200.yaml", options)
        .job.parallel.microbatch_group;
  };
  CHECK(group({"parallel.microbatch_group=16"}) == 16);
  CHECK(group({"parallel.microbatch_group=16", "parallel.microbatch_group=null"}) == 0);
  CHECK(group({"parallel.microbatch_group=null", "parallel.microbatch_group=16"}) == 16);
  CHECK(group({"parallel.microbatch_group=~"}) == 0);
  CHECK_THROWS_WITH(group({"model=null"}), Catch::Contains("required key is missing"));
  CHECK_THROWS_WITH(group({"parallel.tensr=null"}), Catch::Contains("parallel.tensor"));
}

}  // namespace foretrain
