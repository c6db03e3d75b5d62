// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "planner/answer/json_of.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/text/json.hpp"
#include "tests/json_schema.hpp"
#include "tests/planner/fixtures.hpp"
#include "tests/planner/small_run.hpp"

using namespace foretrain;

namespace {

using Names = std::vector<std::string>;

Names keys(const Json& object) {
  Names result;
  for (const auto& [key, value] : object.items()) result.push_back(key);
  return result;
}

const Names top_level{"schema",
                      "foretrain_version",
                      "scenario",
                      "engine",
                      "feasible",
                      "reasons",
                      "memory",
                      "step",
                      "flops",
                      "mfu",
                      "hfu",
                      "tokens_per_s",
                      "tokens_per_s_per_gpu",
                      "model_tflops_per_gpu",
                      "run",
                      "cost",
                      "power",
                      "links",
                      "warnings",
                      "provenance"};

}  // namespace

TEST_CASE("JSON has exactly the keys of schema prediction/1, in order", "[planner][json]") {
  const Json j = Json::parse(report_json(fixtures::fitting()));
  CHECK(keys(j) == top_level);
  CHECK(j["schema"] == "prediction/1");
  CHECK(j["engine"] == "closed-form");
  CHECK(keys(j["memory"]) == Names{"capacity_bytes", "usable_bytes", "peak_bytes", "low_bytes",
                                   "high_bytes", "peak_stage", "stages"});
  CHECK(keys(j["memory"]["stages"][0]) ==
        Names{"stage", "weights_bytes", "gradients_bytes", "optimizer_bytes", "activations_bytes",
              "buffers_bytes", "communication_bytes", "context_bytes", "fragmentation_bytes",
              "allocated_bytes", "peak_bytes"});
  CHECK(keys(j["step"]) == Names{"time_s", "low_s", "high_s", "breakdown"});
  CHECK(keys(j["step"]["breakdown"]) == Names{"compute_s", "recompute_s", "tensor_s", "context_s",
                                              "expert_s", "pipeline_s", "bubble_s", "data_s",
                                              "optimizer_s", "input_s", "launch_s", "imbalance_s"});
  CHECK(keys(j["flops"]) ==
        Names{"model_per_step", "hardware_per_step", "peak_per_gpu_per_s", "convention"});
  CHECK(keys(j["run"]) == Names{"tokens", "steps", "ideal_s", "expected_s", "goodput", "p10_s",
                                "p90_s", "p50_s", "scheduling_goodput", "runtime_goodput",
                                "interruptions", "between_interruptions_s", "checkpoint_bytes",
                                "checkpoint_write_s", "checkpoint_read_s", "checkpoint_every_s",
                                "checkpoint_stall_s", "meets_deadline", "split"});
  CHECK(keys(j["run"]["split"]) == Names{"steps_s", "evaluation_s", "checkpoints_s", "slow_s",
                                         "lost_s", "detection_s", "restart_s", "planned_s",
                                         "waiting_s"});
  CHECK(keys(j["cost"]) == Names{"gpu_hours", "usd", "energy_kwh", "co2_kg", "step_kwh", "power_w",
                                 "gpu_hours_low", "gpu_hours_high", "price_low_usd",
                                 "price_high_usd", "energy_low_kwh", "energy_high_kwh",
                                 "co2_low_kg", "co2_high_kg", "parts"});
  CHECK(keys(j["cost"]["parts"]) == Names{"rent_usd", "machine_usd", "network_usd", "storage_usd",
                                          "staff_usd", "electricity_usd"});
  CHECK(keys(j["links"][0]) == Names{"name", "bytes", "utilisation"});
  CHECK(keys(j["provenance"]) == Names{"device", "kernels", "collectives", "stack", "software"});
  CHECK(keys(j["provenance"]["software"]) == Names{"first_year", "last_year", "asked_year"});
  CHECK(keys(j["provenance"]["stack"]) == Names{"source", "error"});
}

TEST_CASE("an infeasible forecast keeps its keys and says null", "[planner][json]") {
  const Json j = Json::parse(report_json(fixtures::illegal()));
  CHECK(keys(j) == top_level);
  CHECK(j["feasible"] == false);
  CHECK(keys(j["reasons"][0]) == Names{"rule", "key", "message", "remedy"});
  for (const char* key : {"memory", "step", "flops", "mfu", "tokens_per_s"})
    CHECK(j[key].is_null());
  CHECK(j["run"]["ideal_s"].is_null());
  CHECK(j["cost"]["usd"].is_null());

  const Json memory = Json::parse(report_json(fixtures::out_of_memory()));
  CHECK(memory["memory"]["peak_bytes"].is_number());
  CHECK(memory["step"].is_null());
}

namespace {

/// What the committed schema says against a document; empty when it is valid.
std::string prediction_schema_errors(const nlohmann::json& document) {
  return test::schema_errors(
      std::filesystem::path(FORETRAIN_SOURCE_DIR) / "planner/schemas/prediction.schema.json",
      document);
}

}  // namespace

TEST_CASE("the committed schema of prediction/1 holds for every shipped scenario",
          "[planner][json][schema]") {
  int seen = 0;
  for (const char* folder : {"scenarios", "scenarios/basics"})
    for (const auto& entry : std::filesystem::directory_iterator{
             std::filesystem::path(FORETRAIN_SOURCE_DIR) / folder}) {
      if (entry.path().extension() != ".yaml") continue;
      CAPTURE(entry.path().string());
      const Scenario scenario = load_scenario(entry.path());
      for (const EngineKind engine : {EngineKind::closed_form, EngineKind::path}) {
        const auto document =
            nlohmann::json::parse(report_json(evaluate(scenario, AttentionFlops::full, engine)));
        CHECK(prediction_schema_errors(document).empty());
        ++seen;
      }
    }
  CHECK(seen > 40);
  for (const Report& report : {fixtures::fitting(), fixtures::illegal(), fixtures::out_of_memory()})
    CHECK(prediction_schema_errors(nlohmann::json::parse(report_json(report))).empty());
}

TEST_CASE("the schema of prediction/1 refuses what no forecast says", "[planner][json][schema]") {
  const auto document = nlohmann::json::parse(report_json(fixtures::fitting()));
  const auto errors = [&](const char* path, const nlohmann::json& value) {
    nlohmann::json changed = document;
    changed[nlohmann::json::json_pointer(path)] = value;
    return prediction_schema_errors(changed);
  };
  for (const char* path : {"/step/breakdown/bubble_s", "/memory/peak_bytes", "/run/goodput"})
    CHECK_FALSE(errors(path, -1e-9).empty());
  CHECK_FALSE(errors("/run/meets_deadline", 1.0000001).empty());
  CHECK_FALSE(errors("/step", nullptr).empty());
  CHECK_FALSE(errors("/feasible", false).empty());
  CHECK_FALSE(errors("/step/breakdown/waiting_s", 0.0).empty());
  for (const auto& [key, value] : document.items()) {
    nlohmann::json changed = document;
    changed.erase(key);
    CHECK_FALSE(prediction_schema_errors(changed).empty());
  }
}

TEST_CASE("equal reports give equal bytes", "[planner][json]") {
  CHECK(report_json(fixtures::fitting()) == report_json(fixtures::fitting()));
}

TEST_CASE("numbers round-trip", "[planner][json][property]") {
  const double value = GENERATE(0.1, 1.0 / 3.0, 5e-324, 1.7976931348623157e308, 9007199254740991.0,
                                9007199254740993.0, -2.5, 85899345920.0);
  Report report = fixtures::fitting();
  report.prediction.step->time = Seconds{value};
  CHECK(Json::parse(report_json(report))["step"]["time_s"].get<double>() == value);
}

TEST_CASE("numbers that are not finite become null", "[planner][json]") {
  Report report = fixtures::fitting();
  report.prediction.step->high = Seconds{std::numeric_limits<double>::infinity()};
  CHECK(Json::parse(report_json(report))["step"]["high_s"].is_null());
}

TEST_CASE("whole bytes print without a fraction", "[planner][json]") {
  CHECK(report_json(fixtures::fitting()).find("\"capacity_bytes\": 85899345920,") !=
        std::string::npos);
}

TEST_CASE("the scenario nests by its dotted paths with types", "[planner][json]") {
  const Json s = json_of(scenario_value(fixtures::fitting().scenario));
  CHECK(s["name"] == "2024");  // a name, though it consists of digits
  Scenario digits = fixtures::fitting().scenario;
  digits.values.push_back({"site", "8800", "run.yaml:9"});
  digits.values.push_back({"stack", "true", "run.yaml:10"});
  CHECK(json_of(scenario_value(digits))["site"] == "8800");
  CHECK(json_of(scenario_value(digits))["stack"] == "true");
  CHECK(s["cluster"]["hosts"] == 128);
  CHECK(s["cluster"]["fabric"]["oversubscription"] == 1.5);
  CHECK(s["parallel"]["sequence"] == true);
  CHECK(s["communication"]["bucket"] == "25 MiB");
  CHECK(s["cluster"]["host"]["name"] == "dgx-h100");
  CHECK(s["cluster"]["host"]["gpus"] == 8);
}

TEST_CASE("text that is not UTF-8 is mended", "[planner][json]") {
  Report report = fixtures::fitting();
  report.prediction.warnings.push_back({"odd", "byte \xff here"});
  CHECK_NOTHROW(Json::parse(report_json(report)));
}

TEST_CASE("the parts of JSON sum to their totals", "[planner][json]") {
  const Json j = Json::parse(report_json(fixtures::fitting()));
  double sum = 0.0;
  for (const auto& [key, value] : j["step"]["breakdown"].items()) sum += value.get<double>();
  CHECK(sum == Approx(j["step"]["time_s"].get<double>()).epsilon(1e-12));
  for (const Json& stage : j["memory"]["stages"]) {
    double bytes_sum = 0.0;
    for (const auto& [key, value] : stage.items())
      if (key.ends_with("_bytes") && key != "allocated_bytes" && key != "peak_bytes")
        bytes_sum += value.get<double>();
    CHECK(bytes_sum == Approx(stage["peak_bytes"].get<double>()).epsilon(1e-12));
  }
}

TEST_CASE("paths lead to values", "[planner][json]") {
  const Json j = prediction_tree(fixtures::fitting());
  CHECK(find_path(j, "memory.stages.3.stage")->get<int>() == 3);
  CHECK(find_path(j, "memory.stages.8.stage") == nullptr);
  CHECK(find_path(j, "memory.stages.x") == nullptr);
  CHECK(find_path(j, "memory.peak_bytes.more") == nullptr);
  CHECK(find_path(j, "nothing") == nullptr);
}

TEST_CASE("JSON holds what was measured beside the forecast", "[planner][json]") {
  const auto json_with = [](const std::vector<std::string>& settings) {
    return Json::parse(report_json(evaluate(fixtures::small_scenario(settings))));
  };
  CHECK_FALSE(json_with({}).contains("measured"));
  const Json j = json_with({"measured.step_time=4 s", "measured.memory_reserved=60 GiB"});
  REQUIRE(j["measured"].size() == 2);
  const Json& step = j["measured"][0];
  CHECK(step["key"] == "step_time");
  CHECK(step["measured"] == 4.0);
  CHECK(step["forecast"] == j["step"]["time_s"]);
  CHECK(step["difference"].get<double>() == Approx(j["step"]["time_s"].get<double>() / 4.0 - 1.0));
  CHECK(j["measured"][1]["key"] == "memory_reserved");
  // No forecast reads it.
  CHECK(j["step"] == json_with({})["step"]);
}
