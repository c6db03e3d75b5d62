// SPDX-License-Identifier: Apache-2.0
// What fit's room, its remedies, solve sequence and solve headroom offer, simulate accepts: models
// with sliding windows, sinks, recurrent layers and indexers among them, whose context ranks,
// sequences and layouts are not all modelled.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "models/forecast/closed_form.hpp"
#include "models/rules/plan_rules.hpp"
#include "planner/forecast/fit_room.hpp"
#include "planner/forecast/smallest_change.hpp"
#include "planner/solve/solve.hpp"

using namespace foretrain;

namespace {

Scenario family_scenario(const std::string& text, const std::vector<std::string>& settings = {}) {
  LoadOptions options;
  options.overrides = settings;
  return load_scenario_text(text, "family.yaml", std::filesystem::current_path(), options);
}

std::string family_text(const std::string& model, int tokens, int tensor, int context) {
  return fmt::format(
      "schema: 1\nname: family\nmodel: {}\n"
      "cluster: {{host: dgx-h100, hosts: 4, fabric: {{kind: rail-optimized, preset: ib-ndr}}}}\n"
      "training: {{sequence: {}, micro_batch: 1, global_batch: 64, precision: bf16}}\n"
      "parallel: {{tensor: {}, sequence: {}, context: {}, zero: 1}}\n"
      "memory: {{recompute: full}}\n",
      model, tokens, tensor, tensor > 1, context);
}

/// The offer as somebody types it, simulated.
void check_accepted(const std::string& text, const std::vector<std::string>& settings) {
  CAPTURE(settings);
  const Prediction forecast = closed_form(family_scenario(text, settings).job);
  for (const Infeasible& reason : forecast.reasons) UNSCOPED_INFO(reason.message);
  CHECK(forecast.feasible());
  CHECK(forecast.step.has_value());
}

std::string row_value(const std::vector<SolveValue>& row, std::size_t place) {
  return fmt::format("{:.0f}", row.at(place).number.value_or(0.0));
}

/// How many offers differ from the scenario.
int check_offers(const std::string& text) {
  INFO(text);
  const Scenario scenario = family_scenario(text);
  int offers = 0;
  const auto grown = [&](const std::string& key, int now, int to) {
    if (to == now || key == "model.layers") return;  // of a model of the catalog, layers are fixed
    ++offers;
    check_accepted(text, {fmt::format("{}={}", key, to)});
  };
  for (const Room& room : judge_fit(scenario).room)
    if (room.largest) grown(room.key, room.now, *room.largest);
  for (const auto& row : memory_headroom(scenario, {}).rows)
    if (row.at(2).number)
      grown(row.at(0).text, static_cast<int>(*row.at(1).number),
            static_cast<int>(*row.at(2).number));
  const SolveAnswer sequence = longest_sequence(scenario, {});
  for (const auto& row : sequence.rows)
    if (row.at(0).text == "plan as it is")
      grown("training.sequence", scenario.job.training.sequence, std::stoi(row_value(row, 1)));
  if (sequence.found) check_accepted(text, sequence.settings);
  return offers;
}

}  // namespace

TEST_CASE("what fit's room, solve sequence and solve headroom offer, simulate accepts",
          "[planner][offer]") {
  int offers = 0;
  for (const char* model : {"mistral-7b-v0.1", "llama3-8b", "gpt-oss-20b", "gemma3-1b",
                            "nemotron-h-8b", "qwen3-30b-a3b", "deepseek-v2-lite", "gpt2-small"})
    for (const int context : {1, 2})
      for (const int tensor : {1, 2}) {
        const std::string text = family_text(model, 1024, tensor, context);
        if (closed_form(family_scenario(text).job).feasible()) offers += check_offers(text);
      }
  CHECK(offers > 20);
}

TEST_CASE("a window that no ring of context ranks passes on bounds the room", "[planner][offer]") {
  const Scenario scenario = family_scenario(family_text("mistral-7b-v0.1", 4096, 2, 2));
  const Room room = room_of_sequence(scenario.job);
  CHECK(room.largest == 4096);
  CHECK(room.bound == RoomBound::rule);
  CHECK(room.rule == not_modelled_rule);
  // As it stands not modelled: what is offered is what simulate accepts, below.
  const Scenario longer = family_scenario(family_text("mistral-7b-v0.1", 8192, 2, 2));
  const FitReport fit = judge_fit(longer);
  CHECK(fit.not_forecast.size() == 1);
  CHECK(room_of_sequence(longer.job).largest == 4096);
}

TEST_CASE("memory alone is said where no size is modelled", "[planner][offer]") {
  const Scenario scenario = family_scenario(family_text("llama3-8b", 4096, 2, 1),
                                            {"memory.offload=optimizer+parameters"});
  REQUIRE(broken_rules(scenario.job).empty());
  REQUIRE_FALSE(not_modelled(scenario.job).empty());
  const Room room = room_of_micro_batch(scenario.job);
  REQUIRE(room.largest);
  CHECK(room.why.find("by memory alone") != std::string::npos);
  for (const Change& change : changes_that_fit(scenario)) CHECK_FALSE(change.text().empty());
}

TEST_CASE("remedies move every axis of a plan before they ask for hosts", "[planner][offer]") {
  // The plan of a run that its owner asked about: 64 hosts of 8 H200, TP 64, PP 2, EP 4.
  const auto run = [](const std::vector<std::string>& settings = {}) {
    return family_scenario(
        "schema: 1\nname: large-mixture\nmodel: deepseek-v3\n"
        "cluster: {host: hgx-h200, hosts: 64, fabric: {kind: rail-optimized, preset: ib-ndr}}\n"
        "training: {sequence: 4096, micro_batch: 1, global_batch: 8, precision: bf16}\n"
        "parallel: {tensor: 64, sequence: true, pipeline: 2, expert: 4, expert_tensor: 1, zero: "
        "1}\n"
        "memory: {recompute: full}\n",
        settings);
  };
  const Scenario scenario = run();
  REQUIRE(refusals(scenario.job).empty());
  const FitReport fit = judge_fit(scenario);
  REQUIRE(fit.verdict == FitVerdict::does_not_fit);
  REQUIRE_FALSE(fit.changes.empty());
  // Tensor ranks over eight hosts cost most of the step: one change of expert ranks fits, and a
  // layout within hosts comes before it.
  CHECK(fit.changes.front().text().find("parallel.tensor=8") != std::string::npos);
  CHECK(fit.changes.front().step->value() < 0.8 * fit.changes.at(1).step->value());
  for (const Change& change : fit.changes) {
    CAPTURE(change.text());
    CHECK(change.text().find("cluster.hosts") == std::string::npos);
    const Prediction forecast = closed_form(run(change.settings).job);
    REQUIRE(forecast.step);
    REQUIRE(change.step);
    CHECK(forecast.step->time.value() == change.step->value());
    CHECK(forecast.memory->peak.value() == change.peak.value());
  }
}

TEST_CASE("remedies change several axes at once where no three of them help", "[planner][offer]") {
  const auto run = [](const std::vector<std::string>& settings = {}) {
    return family_scenario(
        "schema: 1\nname: large-mixture\nmodel: deepseek-v3\n"
        "cluster: {host: dgx-gb300, hosts: 18, fabric: {kind: rail-optimized, preset: ib-xdr}}\n"
        "training: {sequence: 4096, micro_batch: 4, global_batch: 1008, precision: bf16}\n"
        "parallel: {tensor: 1, pipeline: 1, expert: 1, zero: 1}\n",
        settings);
  };
  const auto changes = changes_that_fit(run());
  REQUIRE_FALSE(changes.empty());
  for (const Change& change : changes) {
    CAPTURE(change.text());
    CHECK(change.text().find("cluster.hosts") == std::string::npos);
    const Prediction forecast = closed_form(run(change.settings).job);
    REQUIRE(forecast.feasible());
    CHECK(forecast.step->time.value() == change.step.value().value());
    CHECK(forecast.memory->peak.value() == change.peak.value());
  }
}
