// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fields/section_keys.hpp"

#include <catch2/catch.hpp>

#include "scenarios/fields/parallel_keys.hpp"
#include "scenarios/fields/training_keys.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

/// What the reader makes of a section's text, as the text of that.
template <class T>
std::string read_back(const SectionTable<T>& section, const std::string& text) {
  const FieldTable table("A section", section.fields());
  Diagnostics diagnostics;
  const auto root = parse_yaml(text, "section.yaml", YamlLimits{}, diagnostics);
  diagnostics.throw_if_any();
  const FieldValues values = read_fields(*root, table, diagnostics, Document::partial);
  diagnostics.throw_if_any();
  return section.text(section.read(values));
}

/// Every key of the section that is not a group stands in the text.
template <class T>
void check_says_all(const SectionTable<T>& section, const std::string& text,
                    const std::string& but) {
  for (const Field& field : section.fields()) {
    CAPTURE(field.path);
    if (field.path != but)
      CHECK(text.find(std::string(leaf_name(field.path)) + ":") != std::string::npos);
  }
}

}  // namespace

TEST_CASE("parallel: what is written is read back, every key of it", "[scenarios][fields]") {
  Parallel plan;
  CHECK(parallel_keys().text(plan).empty());
  plan.tensor = 8;
  plan.sequence = true;
  plan.context = 2;
  plan.pipeline = 4;
  plan.virtual_stages = 3;
  plan.schedule = ScheduleKind::interleaved;
  plan.microbatch_group = 6;
  plan.expert = 5;
  plan.expert_tensor = 7;
  plan.data = 16;  // follows from the rest
  plan.order = stages_in_replica;
  plan.zero = 2;
  plan.zero_group = 9;
  plan.processes = ProcessKind::per_host;
  plan.gather = GatherKind::loss;
  plan.stage_layers = {19, 20, 21, 20};
  const std::string text = parallel_keys().text(plan);
  check_says_all(parallel_keys(), text, "parallel.data");
  CHECK(text.find("  order: tp-cp-ep-pp-dp\n") != std::string::npos);
  CHECK(text.find("  stage_layers: [19, 20, 21, 20]\n") != std::string::npos);
  CHECK(read_back(parallel_keys(), text) == text);
}

TEST_CASE("training: what is written is read back, every key of it", "[scenarios][fields]") {
  Training training;
  training.sequence = 4096;
  training.global_batch = 1024;
  CHECK(training_keys().text(training) ==
        "training:\n  sequence: 4096\n  micro_batch: 1\n  global_batch: 1024\n");
  training.micro_batch = 2;
  training.tokens = 2e12;
  training.precision = Precision::fp8;
  training.optimizer = OptimizerKind::muon;
  training.master_bytes = 2.0;
  training.first_moment_bytes = 1.0;
  training.second_moment_bytes = 3.0;
  training.moe_imbalance = 1.25;
  training.whole_tensor_shards = true;
  training.bf16_end_layers = 2;
  training.fp8_scaling = Fp8Scaling::row;
  training.router_fp32 = true;
  training.grouped_experts = false;
  training.cuda_graphs.add(GraphPart::attention);
  training.cuda_graphs.add(GraphPart::moe_router);
  training.hidden_dropout = training.attention_dropout = 0.1;
  training.vocabulary_multiple = 64;
  const std::string text = training_keys().text(training);
  check_says_all(training_keys(), text, "");
  CHECK(text.find("  optimizer_state: {master: 2 B, first_moment: 1 B, second_moment: 3 B}\n") !=
        std::string::npos);
  CHECK(text.find("  cuda_graphs: [attention, moe-router]\n") != std::string::npos);
  CHECK(read_back(training_keys(), text) == text);
}

TEST_CASE("a documented default of a section is that of its struct", "[scenarios][fields]") {
  const auto documented = [](const std::vector<Field>& fields, const std::string& path) {
    for (const Field& field : fields)
      if (field.path == path) return field.default_text;
    return std::string("no such key");
  };
  CHECK(documented(parallel_keys().fields(), "parallel.schedule") == name_of(default_schedule));
  CHECK(documented(parallel_keys().fields(), "parallel.microbatch_group").empty());
  CHECK(documented(training_keys().fields(), "training.optimizer_state.master") == "4 B");
  CHECK(documented(training_keys().fields(), "training.sequence").empty());
}

}  // namespace foretrain
