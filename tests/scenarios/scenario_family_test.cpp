// SPDX-License-Identifier: Apache-2.0
#include "scenarios/resolve/scenario_family.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "models/forecast/closed_form.hpp"
#include "scenarios/yaml/text_file.hpp"

using namespace foretrain;

namespace {

namespace fs = std::filesystem;

const fs::path scenarios_folder = fs::path(FORETRAIN_SOURCE_DIR) / "scenarios";

/// A scenario whose data degree follows from the rest.
const std::string text = R"(schema: 1
name: family
model: llama2-70b
cluster:
  host: dgx-h100
  hosts: 16
  fabric: {kind: rail-optimized, preset: ib-ndr}
training: {sequence: 4096, micro_batch: 1, global_batch: 256, tokens: 2 T}
parallel: {tensor: 8, sequence: true, pipeline: 4, zero: 1}
memory: {recompute: selective}
stack: megatron-core
)";

FamilyBase base_of(std::string scenario, std::vector<std::string> left_out = {}) {
  LoadOptions options;
  options.left_out = std::move(left_out);
  return {std::move(scenario), "family.yaml", scenarios_folder, std::move(options)};
}

std::vector<std::string> loaded_errors(const std::vector<std::string>& settings, Job& job) {
  LoadOptions options;
  options.overrides = settings;
  std::vector<std::string> errors;
  try {
    job = load_scenario_text(text, "family.yaml", scenarios_folder, options).job;
  } catch (const ScenarioError& error) {
    for (const Diagnostic& item : error.diagnostics())
      errors.push_back((item.path.empty() ? "" : item.path + ": ") + item.message);
  }
  std::sort(errors.begin(), errors.end());
  errors.erase(std::unique(errors.begin(), errors.end()), errors.end());
  return errors;
}

/// Everything of a job that a forecast shows, and what it only carries along.
std::string shown(const Job& job) {
  const Prediction p = closed_form(job);
  std::string result = job.name + " " + std::to_string(job.cluster.gpus()) + " " +
                       std::to_string(job.parallel.data) + " " +
                       std::string(name_of(job.communication.transport)) + " " + job.stack.name +
                       " " + job.model.name + " " + std::to_string(job.budget.size()) + " " +
                       std::to_string(job.memory.recompute.layers);
  for (const Infeasible& reason : p.reasons) result += "|" + reason.rule + reason.message;
  for (const Warning& warning : p.warnings) result += "|" + warning.id + warning.message;
  if (p.memory) result += "|" + std::to_string(p.memory->peak.value());
  if (p.step) result += "|" + std::to_string(p.step->time.in(us));
  if (p.cost.price) result += "|" + std::to_string(p.cost.price->value());
  return result;
}

/// Holds every member, visited in a scrambled order, against load_scenario_text().
void check_members(const std::vector<FamilyKey>& keys, std::size_t& legal) {
  ScenarioFamily family(base_of(text), keys);
  std::size_t size = 1;
  for (const FamilyKey& key : keys) size *= key.values.size();
  for (std::size_t i = 0; i < size; ++i) {
    std::size_t rest = i * 7919 % size;
    std::vector<std::size_t> chosen;
    std::vector<std::string> settings;
    for (const FamilyKey& key : keys) {
      chosen.push_back(rest % key.values.size());
      rest /= key.values.size();
      settings.push_back(key.path + "=" + key.values[chosen.back()]);
    }
    CAPTURE(settings);
    Job expected;
    const auto errors = loaded_errors(settings, expected);
    const FamilyMember& member = family.resolve(chosen);
    CHECK(member.errors == errors);
    if (!errors.empty() || !member.errors.empty()) continue;
    ++legal;
    CHECK(shown(family.job()) == shown(expected));
  }
}

}  // namespace

TEST_CASE("scenario family: a value that comes later gives the same member as one given before",
          "[scenarios][family]") {
  const std::vector<FamilyKey> all{
      {"parallel.tensor", {"8", "4", "2"}},
      {"communication.overlap", {"{gradients: true}", "{gradients: false}"}}};
  ScenarioFamily given(base_of(text), all);
  ScenarioFamily grown(base_of(text), {{all[0].path, {"8"}}, {all[1].path, {"{gradients: true}"}}});
  for (std::size_t tensor = 0; tensor < 3; ++tensor)
    for (std::size_t overlap = 0; overlap < 2; ++overlap) {
      const std::size_t first = grown.value_number(0, all[0].values[tensor]);
      const std::size_t second = grown.value_number(1, all[1].values[overlap]);
      CHECK(grown.value_number(0, all[0].values[tensor]) == first);
      const FamilyMember expected = given.resolve({tensor, overlap});
      CHECK(grown.resolve({first, second}).identity == expected.identity);
      CHECK(grown.resolve({first, second}).errors == expected.errors);
    }
  CHECK_THROWS_AS(grown.value_number(0, "many"), ScenarioError);
  CHECK(grown.value_number(0, "16") == 3);  // what was refused took no number
}

TEST_CASE("scenario family: every member is what load_scenario makes of the same overrides",
          "[scenarios][family][property]") {
  std::size_t legal = 0;
  SECTION("scalars, some of which contradict each other") {
    check_members({{"parallel.tensor", {"8", "2", "3"}},
                   {"parallel.zero", {"1", "0", "3"}},
                   {"parallel.zero_group", {"2", "5"}},
                   {"parallel.schedule", {"1f1b", "interleaved"}},
                   {"parallel.virtual_stages", {"1", "2"}}},
                  legal);
    CHECK(legal > 2);
  }
  SECTION("groups in scalar form replace what the group said") {
    check_members({{"memory.recompute",
                    {"none", "full", "{granularity: full, method: block, layers: 3}", "selective"}},
                   {"training.micro_batch", {"1", "2"}},
                   {"training.tokens", {"1 T", "500 B"}}},
                  legal);
    CHECK(legal == 16);
  }
  SECTION("keys that ask the catalogs") {
    check_members({{"model", {"llama2-70b", "llama2-7b", "no-such-model"}},
                   {"cluster.host", {"dgx-h100", "dgx-a100"}},
                   {"cluster.hosts", {"16", "4"}},
                   {"cluster.fabric.preset", {"ib-ndr", "ib-hdr"}},
                   {"stack", {"megatron-core", "fsdp2"}}},
                  legal);
    CHECK(legal > 4);
  }
  SECTION("stacks that say which program runs the plan") {
    check_members({{"stack", {"hf-trainer", "fsdp2"}},
                   {"parallel.pipeline", {"1", "4"}},
                   {"parallel.tensor", {"1", "8"}},
                   {"parallel.framework", {"any", "transformers"}}},
                  legal);
    check_members({{"stack", {"hf-trainer", "fsdp2"}}, {"parallel.tensor", {"1", "8"}}}, legal);
    CHECK(legal > 4);
  }
  SECTION("groups with required keys, lists and prices") {
    check_members({{"operations.checkpoint", {"{every: 30 min}", "{mode: sync}", "{evry: 1 s}"}},
                   {"operations.price", {"2 USD/GPU-hour", "3 USD/GPU-hour"}},
                   {"budget", {"[{metric: mfu, min: 0.4}]", "[]", "[{metric: mfu}]"}},
                   {"parallel.stage_layers", {"[20, 20, 20, 20]", "[21, 20, 20, 19]"}}},
                  legal);
    CHECK(legal > 4);
  }
}

TEST_CASE("scenario family: identity is of the resolved values, whatever grid they come from",
          "[scenarios][family]") {
  ScenarioFamily one(base_of(text), {{"parallel.tensor", {"8", "4", "2"}}});
  ScenarioFamily two(base_of("# a comment\n" + text),
                     {{"training.micro_batch", {"2", "1"}}, {"parallel.tensor", {"2", "4"}}});
  std::set<std::string> seen;
  for (std::size_t i = 0; i < 3; ++i) seen.insert(one.resolve({i}).identity);
  CHECK(seen.size() == 3);
  CHECK(one.resolve({1}).identity == two.resolve({1, 1}).identity);
  CHECK(one.resolve({2}).identity == two.resolve({1, 0}).identity);
  CHECK(one.resolve({1}).identity != two.resolve({0, 1}).identity);
  CHECK(one.family_identity() != two.family_identity());

  ScenarioFamily derived(base_of(text), {{"parallel.tensor", {"8"}}});
  ScenarioFamily written(base_of(text), {{"parallel.data", {"4"}}});
  CHECK(derived.resolve({0}).identity == written.resolve({0}).identity);
}

TEST_CASE("scenario family: a key that is left out follows from the others",
          "[scenarios][family]") {
  std::string fixed = text;
  fixed.replace(fixed.find("zero: 1"), 7, "zero: 1, data: 4");
  ScenarioFamily stiff(base_of(fixed), {{"parallel.tensor", {"8", "4"}}});
  CHECK(stiff.resolve({0}).errors.empty());
  REQUIRE(stiff.resolve({1}).errors.size() == 1);
  CHECK(stiff.resolve({1}).errors.front().find("write data: 8 or leave it out") !=
        std::string::npos);
  ScenarioFamily free(base_of(fixed, {"parallel.data"}), {{"parallel.tensor", {"8", "4"}}});
  REQUIRE(free.resolve({1}).errors.empty());
  CHECK(free.job().parallel.data == 8);
}

TEST_CASE("scenario family: what no choice can mend is thrown at once", "[scenarios][family]") {
  const auto message = [](const std::string& scenario, std::vector<FamilyKey> keys) {
    try {
      ScenarioFamily family(base_of(scenario), std::move(keys));
    } catch (const ScenarioError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  CHECK(message(text, {{"parallel.tensor", {"8", "eight", "0"}}}) ==
        "--vary: parallel.tensor: 'eight' is not an integer\n--vary: parallel.tensor: must be "
        "between 1 and 1000000, not 0");
  CHECK(message(text + "sped: 1\n", {{"parallel.tensor", {"8"}}}).find("unknown key") !=
        std::string::npos);
  std::string nowhere = text;
  nowhere.replace(nowhere.find("llama2-70b"), 10, "llama9");
  CHECK(message(nowhere, {{"parallel.tensor", {"8"}}}).find("there is no model 'llama9'") !=
        std::string::npos);
  CHECK(message(nowhere, {{"model", {"llama2-70b"}}}) == "nothing");
}
