// SPDX-License-Identifier: Apache-2.0
// The committed schema and reference page are what the field table says, and they accept what the
// reader accepts. FORETRAIN_UPDATE_GOLDEN=1 rewrites them.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "models/inputs/job.hpp"
#include "scenarios/fields/field_reader.hpp"
#include "scenarios/fields/reference.hpp"
#include "scenarios/resolve/resolve.hpp"
#include "scenarios/resolve/resolve_operations.hpp"
#include "scenarios/sections/scenario_fields.hpp"
#include "tests/json_schema.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path source = FORETRAIN_SOURCE_DIR;

void check_committed(const fs::path& file, const std::string& generated) {
  if (std::getenv("FORETRAIN_UPDATE_GOLDEN")) {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << generated;
  }
  INFO(file.string());
  CHECK(test::contents(file) == generated);
}

/// The document as a JSON Schema validator sees it: plain numbers and booleans are typed.
Json json_of(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return nullptr;
    case YamlNode::Kind::sequence: {
      Json list = Json::array();
      for (const YamlNode& item : node.items) list.push_back(json_of(item));
      return list;
    }
    case YamlNode::Kind::map: {
      Json map = Json::object();
      for (const YamlEntry& entry : node.entries) map[entry.key] = json_of(entry.value);
      return map;
    }
    case YamlNode::Kind::scalar:
      break;
  }
  if (node.quoted) return node.text;
  if (const auto whole = parse_integer(node.text); whole.value) return *whole.value;
  if (const auto number = parse_number(node.text); number.value) return *number.value;
  if (const auto boolean = parse_boolean(node.text); boolean.value) return *boolean.value;
  return node.text;
}

std::string schema_errors_of(const std::string& text) {
  Diagnostics diagnostics;
  const auto root = parse_yaml(text, "f", YamlLimits{}, diagnostics);
  REQUIRE(root.has_value());
  return test::schema_errors(source / "scenarios/schema/scenario.schema.json", json_of(*root));
}

const std::string minimal =
    "schema: 1\nname: n\nmodel: m\ncluster: {host: h, hosts: 1, fabric: {kind: torus, preset: p}}\n"
    "training: {sequence: 1, global_batch: 1}\n";

TEST_CASE("schema: the committed file is generated from the field table", "[scenarios][golden]") {
  check_committed(source / "scenarios/schema/scenario.schema.json", schema_json(scenario_fields()));
}

TEST_CASE("reference: the committed page is generated from the field table",
          "[scenarios][golden]") {
  check_committed(source / "scenarios/REFERENCE.md", reference_page(scenario_fields()));
}

TEST_CASE("schema: every example scenario is valid", "[scenarios]") {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(source / "scenarios")) {
    if (entry.path().extension() != ".yaml") continue;
    INFO(entry.path().filename().string());
    CHECK(schema_errors_of(test::contents(entry.path())).empty());
    ++count;
  }
  CHECK(count >= 7);
}

TEST_CASE("schema: what the reader refuses by type, name, choice or unit, the schema refuses too",
          "[scenarios][error]") {
  CHECK(schema_errors_of(minimal).empty());
  for (const char* line :
       {"colour: red\n", "parallel: {tensor: eight}\n", "parallel: {tensor: 0}\n",
        "parallel: {zero: 4}\n", "parallel: 8\n", "parallel: {schedule: 1F1B}\n",
        "communication: {bucket: 25}\n", "communication: {bucket: 25 Mb}\n",
        "communication: {overlap: {gradients: yes}}\n", "memory: {recompute: {kind: full}}\n",
        "memory: {recompute: most}\n", "memory: {activation_offload: [everything]}\n",
        "budget: [{max: 3}]\n", "budget: [{metric: a, max: b}]\n", "operations: {price: 2.5 EUR}\n",
        "stack: \"\"\n"}) {
    INFO(line);
    CHECK_FALSE(schema_errors_of(minimal + line).empty());
    Diagnostics diagnostics;
    const auto root = parse_yaml(minimal + line, "f", YamlLimits{}, diagnostics);
    (void)read_fields(*root, scenario_fields(), diagnostics);
    CHECK_FALSE(diagnostics.empty());
  }
}

TEST_CASE("schema: required keys are due, but not beside extends", "[scenarios]") {
  CHECK_FALSE(schema_errors_of("schema: 1\nname: n\n").empty());
  CHECK_FALSE(schema_errors_of("name: n\nextends: base.yaml\n").empty());
  CHECK(schema_errors_of("schema: 1\nextends: base.yaml\n").empty());
  CHECK(schema_errors_of("schema: 1\nextends: base.yaml\ncluster: {hosts: 2}\n").empty());
}

TEST_CASE("field table: every example is legal for its own field", "[scenarios]") {
  for (const Field& field : scenario_fields().fields()) {
    INFO(field.path);
    CHECK_FALSE(field.help.empty());
    CHECK(field.help.back() == '.');
    if (field.kind == FieldKind::group || field.kind == FieldKind::list) continue;
    REQUIRE_FALSE(field.example.empty());
    Field alone = field;
    alone.path = "key";
    alone.required = false;
    const FieldTable table("one", {alone});
    Diagnostics diagnostics;
    const auto root = parse_yaml("key: " + field.example, "f", YamlLimits{}, diagnostics);
    const FieldValues values = read_fields(*root, table, diagnostics);
    CHECK(diagnostics.empty());
    CHECK(values.has("key"));
  }
}

TEST_CASE("field table: defaults are those of the structs that the evaluators see", "[scenarios]") {
  Diagnostics diagnostics;
  const auto root = parse_yaml("{}", "f", YamlLimits{}, diagnostics);
  const FieldValues none = read_fields(*root, scenario_fields(), diagnostics, Document::partial);
  REQUIRE(diagnostics.empty());

  const Training training = training_of(none);
  const Training expected_training;
  CHECK(training.micro_batch == expected_training.micro_batch);
  CHECK(training.precision == expected_training.precision);
  CHECK(training.optimizer == expected_training.optimizer);
  CHECK(training.hidden_dropout == expected_training.hidden_dropout);
  CHECK(training.attention_dropout == expected_training.attention_dropout);
  CHECK(training.master_bytes == expected_training.master_bytes);
  CHECK(training.first_moment() == expected_training.first_moment());
  CHECK(training.second_moment() == expected_training.second_moment());
  CHECK(training.moe_imbalance == expected_training.moe_imbalance);
  CHECK(training.whole_tensor_shards == expected_training.whole_tensor_shards);
  CHECK(training.fp8_scaling == expected_training.fp8_scaling);
  CHECK(training.bf16_end_layers == expected_training.bf16_end_layers);
  CHECK(training.router_fp32 == expected_training.router_fp32);
  CHECK(training.grouped_experts == expected_training.grouped_experts);
  CHECK(training.vocabulary_multiple == expected_training.vocabulary_multiple);
  CHECK_FALSE(training.tokens.has_value());

  const Parallel parallel = parallel_of(none);
  const Parallel expected_parallel;
  CHECK(parallel.tensor == expected_parallel.tensor);
  CHECK(parallel.sequence == expected_parallel.sequence);
  CHECK(parallel.context == expected_parallel.context);
  CHECK(parallel.pipeline == expected_parallel.pipeline);
  CHECK(parallel.virtual_stages == expected_parallel.virtual_stages);
  CHECK(parallel.schedule == expected_parallel.schedule);
  CHECK(parallel.microbatch_group == expected_parallel.microbatch_group);
  CHECK(parallel.expert == expected_parallel.expert);
  CHECK(parallel.expert_tensor == expected_parallel.expert_tensor);
  CHECK(parallel.data == expected_parallel.data);
  CHECK(parallel.zero == expected_parallel.zero);
  CHECK(parallel.zero_group == expected_parallel.zero_group);
  CHECK(parallel.stage_layers == expected_parallel.stage_layers);

  const MemoryOptions memory = memory_of(none);
  const MemoryOptions expected_memory;
  CHECK(memory.recompute.kind == expected_memory.recompute.kind);
  CHECK(memory.recompute.method == expected_memory.recompute.method);
  CHECK(memory.recompute.layers == expected_memory.recompute.layers);
  CHECK(memory.recompute.modules == expected_memory.recompute.modules);
  CHECK(memory.recompute.every_second_matmul == expected_memory.recompute.every_second_matmul);
  CHECK(memory.recompute.distribute_saved == expected_memory.recompute.distribute_saved);
  CHECK(memory.attention == expected_memory.attention);
  CHECK(memory.offload == expected_memory.offload);
  CHECK(memory.activation_offload == expected_memory.activation_offload);
  CHECK(memory.offloaded_layers == expected_memory.offloaded_layers);
  CHECK(memory.fused_norm == expected_memory.fused_norm);
  CHECK(memory.fused_permutation == expected_memory.fused_permutation);
  CHECK(memory.fused_activation == expected_memory.fused_activation);
  CHECK(memory.fused_softmax == expected_memory.fused_softmax);
  CHECK(memory.fused_loss == expected_memory.fused_loss);
  CHECK(memory.fused_loss_engine == expected_memory.fused_loss_engine);
  CHECK(memory.fused_gradient_accumulation == expected_memory.fused_gradient_accumulation);
  CHECK(memory.deterministic == expected_memory.deterministic);
  CHECK(memory.attention_mask == expected_memory.attention_mask);
  CHECK(memory.fp8_parameters == expected_memory.fp8_parameters);

  const Communication communication = communication_of(none);
  const Communication expected_communication;
  CHECK(communication.backend == expected_communication.backend);
  CHECK(communication.transport == expected_communication.transport);
  CHECK(communication.overlap.gradients == expected_communication.overlap.gradients);
  CHECK(communication.overlap.parameters == expected_communication.overlap.parameters);
  CHECK(communication.overlap.tensor == expected_communication.overlap.tensor);
  CHECK(communication.overlap.pipeline == expected_communication.overlap.pipeline);
  CHECK(communication.overlap.experts == expected_communication.overlap.experts);
  CHECK(communication.bucket == expected_communication.bucket);
  CHECK(communication.scatter_gather == expected_communication.scatter_gather);
  CHECK(communication.gradient_dtype == expected_communication.gradient_dtype);
  CHECK(communication.expert_dispatch == expected_communication.expert_dispatch);
  CHECK(operations_of(none).checkpoint_mode == Operations{}.checkpoint_mode);
}

}  // namespace
}  // namespace foretrain
