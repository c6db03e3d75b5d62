// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/dialect.hpp"

#include <catch2/catch.hpp>

#include <array>

#include "models/base/ranges.hpp"
#include "scenarios/yaml/units_text.hpp"
#include "scenarios/yaml/yaml_tree.hpp"
#include "tests/temporary_folder.hpp"

namespace foretrain {
namespace {

constexpr std::array frameworks{Framework::nanotron, Framework::torchtitan, Framework::torchtune,
                                Framework::maxtext};

/// A job as the rows of a dialect read a configuration; errors are thrown.
Job read_text(const Dialect& dialect, const std::string& text) {
  Diagnostics diagnostics;
  const auto root = parse_yaml(text, "run.yaml", YamlLimits{}, diagnostics);
  diagnostics.throw_if_any();
  TreeReader in(*root, diagnostics);
  Job job;
  read_dialect(dialect, in, job);
  diagnostics.throw_if_any();
  return job;
}

std::string error_of(const Dialect& dialect, const std::string& text) {
  try {
    static_cast<void>(read_text(dialect, text));
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

/// Gives a job a value of a key, and of those with which it counts.
void set_key(const DialectKey& key, const std::string& text, const Dialect& dialect, Job& job) {
  for (const DialectKey& other : dialect.keys)
    if (key.with != nullptr && other.means == key.with)
      set_key(other, other.means->field.kind == FieldKind::boolean ? "true" : "2", dialect, job);
  FieldValue value;
  value.field = &key.means->field;
  value.text = text;
  value.boolean = text == "true";
  value.number = parse_number(text).value.value_or(0.0);
  if (!key.unit.empty()) value.number = *parse_quantity(text, value.field->dimension).value;
  set_plan_key(*key.means, value, job);
}

/// Values to try: those that the key has words for, else one.
std::vector<std::string> values_of(const DialectKey& key) {
  std::vector<std::string> values;
  std::vector<std::string> words;
  for (const auto& [word, value] : key.values) {
    // A word that means several things is read as the first of them.
    if (!contains(words, word)) values.push_back(value);
    words.push_back(word);
  }
  if (!values.empty()) return values;
  if (key.means->field.kind == FieldKind::boolean) return {"true", "false"};
  return {key.unit.empty() ? "4" : "8 " + key.unit};
}

}  // namespace

TEST_CASE("dialects: what an export writes of a row, an import reads", "[scenarios][import]") {
  for (const Framework framework : frameworks) {
    const auto dialect = dialect_of(framework);
    REQUIRE_FALSE(dialect->keys.empty());
    for (const DialectKey& key : dialect->keys)
      for (const std::string& value : values_of(key)) {
        CAPTURE(dialect->name, key.means->field.path, value);
        Job job;
        job.training.precision = Precision::bf16;
        job.training.sequence = 1024;
        set_key(key, value, *dialect, job);
        const std::string text = as_yaml(write_dialect(*dialect, job, {}).words);
        CAPTURE(text);
        const Job back = text.empty() ? read_text(*dialect, "{}") : read_text(*dialect, text);
        CHECK(plan_key_text(*key.means, back) == plan_key_text(*key.means, job));
      }
  }
}

TEST_CASE("dialects: keys are read by all of their names, and words by name alone",
          "[scenarios][import]") {
  const auto dialect = dialect_of(Framework::torchtitan);
  CHECK(read_text(*dialect, "training: {tensor_parallel_degree: 4}").parallel.tensor == 4);
  CHECK(read_text(*dialect, "parallelism: {tensor_parallel_degree: 4}").parallel.sequence);
  CHECK_FALSE(read_text(*dialect, "training: {seq_len: 8}").parallel.sequence);
  const std::string two = error_of(*dialect,
                                   "parallelism: {tensor_parallel_degree: 4}\n"
                                   "training: {tensor_parallel_degree: 2}");
  CHECK(two.find("run.yaml:2") != std::string::npos);
  const std::string word = error_of(*dialect, "optimizer:\n  name: Lion");
  CHECK(word.find("run.yaml:2:9: optimizer.name: 'Lion' is not modelled: AdamW and Adam are") !=
        std::string::npos);
  // A schedule counts where there are stages.
  CHECK(error_of(*dialect, "parallelism: {pipeline_parallel_schedule: LoopedBFS}").empty());
  CHECK_FALSE(error_of(*dialect,
                       "parallelism: {pipeline_parallel_degree: 2, "
                       "pipeline_parallel_schedule: LoopedBFS}")
                  .empty());
}

TEST_CASE("dialects: a plan that has no word is refused by name, one that is fixed is told",
          "[scenarios][export]") {
  const auto dialect = dialect_of(Framework::nanotron);
  Job job;
  job.training.precision = Precision::bf16;
  job.parallel.zero = 3;
  job.memory.fused_loss = true;
  job.communication.overlap.parameters = true;
  const DialectText text = write_dialect(*dialect, job, {});
  CHECK(text.refused == std::vector<std::string>{"parallel.zero: 3 (nanotron has 0 and 1)",
                                                 "memory.fused_loss: true"});
  CHECK(text.left_out == std::vector<std::string>{"communication.overlap.parameters: true, which "
                                                  "nanotron fixes to false"});
  CHECK(write_dialect(*dialect, job, {"parallel.zero", "memory"}).refused.empty());
}

TEST_CASE("dialects: rows of a catalog folder count first, and broken ones name their place",
          "[scenarios][import]") {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& text) { folder.write("dialects/nanotron.yaml", text); };
  write("schema: 1\nkeys:\n  - {means: memory.fused_loss, keys: [ours.fused], usual: false}\n");
  const auto own = dialect_of(Framework::nanotron, {folder.path()});
  CHECK(own->keys.front().keys == std::vector<std::string>{"ours.fused"});
  CHECK(own->keys.size() == dialect_of(Framework::nanotron)->keys.size() + 1);
  write(
      "schema: 1\nkeys:\n  - {means: memory.fused, keys: [a]}\n"
      "  - {means: parallel.schedule, keys: [b], values: [x=afab]}\n");
  try {
    static_cast<void>(dialect_of(Framework::nanotron, {folder.path()}));
    FAIL("a broken dialect was read");
  } catch (const ScenarioError& error) {
    const std::string what = error.what();
    CHECK(what.find("nanotron.yaml:3") != std::string::npos);
    CHECK(what.find("'memory.fused' is not a key of a scenario's plan") != std::string::npos);
    CHECK(what.find("'afab' is not a legal value") != std::string::npos);
  }
}

TEST_CASE("dialects: a term of one's own stands in place of the shipped one",
          "[scenarios][import]") {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& text) { folder.write("dialects/axolotl.yaml", text); };
  write("schema: 1\nterms:\n  - {says: sequence, keys: [our_length], usual: 4096}\n");
  const auto own = dialect_of(Framework::axolotl, {folder.path()});
  CHECK(own->keys_of("sequence") == std::vector<std::string_view>{"our_length"});
  CHECK(own->usual("sequence") == "4096");
  CHECK(own->keys_of("model") == dialect_of(Framework::axolotl)->keys_of("model"));
  write("schema: 1\nterms:\n  - {says: sequnce, keys: [our_length]}\n");
  CHECK_THROWS_WITH(dialect_of(Framework::axolotl, {folder.path()}),
                    Catch::Contains("axolotl.yaml:3") &&
                        Catch::Contains("'sequnce' is not a term of this dialect") &&
                        Catch::Contains("did you mean 'sequence'?"));
}

}  // namespace foretrain
