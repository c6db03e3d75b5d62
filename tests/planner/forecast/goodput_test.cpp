// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

#include "planner/forecast/goodput_study.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/scene/scene.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "tests/json_schema.hpp"
#include "tests/planner/small_run.hpp"
#include "tests/test_text.hpp"

using namespace foretrain;
using nlohmann::ordered_json;

namespace {

Scenario scenario_operated_by(const std::string& operations) {
  return fixtures::small_run("\n" + operations);
}

const std::string full =
    "  mean_time_between_interruptions: 6 h\n"
    "  recovery: {detection: 2 min, reschedule: 3 min, reload: 1 min}\n"
    "  checkpoint: {every: 20 min, write_bandwidth: 5 GB/s}\n"
    "  deadline: 7 d\n"
    "  price: 2.5 USD/GPU-hour\n"
    "  prices_as_of: 2026-11-01\n"
    "  power: {host: 2 kW, network: 100 W, pue: 1.2, carbon: 400 g/kWh}\n";

GoodputOptions few(int threads = 1) {
  GoodputOptions options;
  options.trials = 50;
  options.threads = threads;
  return options;
}

}  // namespace

TEST_CASE("goodput: a forecast with operations has run and cost without nulls",
          "[planner][goodput]") {
  const Report report = evaluate(scenario_operated_by(full));
  const ordered_json j = ordered_json::parse(report_json(report));
  for (const char* key : {"expected_s", "goodput", "p10_s", "p50_s", "p90_s", "interruptions",
                          "checkpoint_every_s", "meets_deadline", "scheduling_goodput"})
    CHECK(j["run"][key].is_number());
  CHECK(j["run"]["p10_s"] < j["run"]["p50_s"]);
  CHECK(j["run"]["p50_s"] < j["run"]["p90_s"]);
  double sum = 0.0;
  for (const auto& row : j["run"]["split"]) sum += row.get<double>();
  CHECK(sum == Approx(j["run"]["expected_s"].get<double>()));
  for (const char* key : {"gpu_hours", "usd", "energy_kwh", "co2_kg", "step_kwh", "power_w"})
    CHECK(j["cost"][key].is_number());
  CHECK(j["cost"]["parts"]["rent_usd"] == j["cost"]["usd"]);
  const std::string text = report_text(report);
  for (const char* part : {"interruptions counted", "time lost", "checkpoints", "deadline",
                           "as of 2026-11-01", "Energy", "per step"}) {
    CAPTURE(part, text);
    CHECK(test::has(text, part));
  }
}

TEST_CASE("goodput: head, rows and spread have one chance to meet a deadline, the simulated one",
          "[planner][goodput]") {
  std::string late = full;
  late.replace(late.find("7 d"), 3, "36 d");
  GoodputOptions options = few();
  options.trials = 37;
  const GoodputStudy study = study_goodput(scenario_operated_by(late), options);
  REQUIRE(study.model.has_value());
  const RunForecast& run = study.report.prediction.run;
  CHECK(study.spread.trials == 37);
  CHECK(run.meets_deadline == study.spread.meets_deadline);
  CHECK(run.p90 == study.spread.p90);
}

TEST_CASE("goodput: switches fail as often as the fabric has of them", "[planner][goodput]") {
  const Scenario scenario = scenario_operated_by(
      "  interruptions: {components: [{name: switch, per: switch, every: 32 d}]}\n");
  CHECK(scenario.job.operations.interruptions.components[0].per_host == 0.25);  // one, four hosts
  CHECK(evaluate(scenario).prediction.run.between == 32.0 * days);
}

TEST_CASE("goodput: what is missing is named, with what it may cost", "[planner][goodput]") {
  const GoodputStudy study =
      study_goodput(scenario_operated_by("  mean_time_between_interruptions: 6 h\n"), few());
  CHECK_FALSE(study.model.has_value());
  CHECK(study.missing == std::vector<std::string>{"operations.restart",
                                                  "operations.checkpoint.write_bandwidth",
                                                  "operations.checkpoint.every"});
  const std::string text = answer_text(goodput_answer(study));
  CHECK(test::has(text, "goodput unknown"));
  CHECK(test::has(text, "missing: operations.restart"));
  CHECK(test::has(text, "less than 36 min"));
  const ordered_json j = ordered_json::parse(goodput_json(study));
  CHECK(j["simulated"].is_null());
  CHECK(j["missing"].size() == 3);
}

TEST_CASE("goodput: closed form and simulated lives agree", "[planner][goodput]") {
  const GoodputStudy study = study_goodput(scenario_operated_by(full), few());
  REQUIRE(study.model.has_value());
  CHECK(study.steady.value().mean / *study.report.prediction.run.expected ==
        Approx(1.0).epsilon(0.02));
  REQUIRE(study.intervals.size() == 6);
  for (const IntervalRow& row : study.intervals) {
    CAPTURE(row.name);
    CHECK(row.simulated == Approx(row.closed_form).margin(0.02));
    CHECK(row.closed_form <= study.intervals[1].closed_form * (1.0 + 1e-9));
  }
}

TEST_CASE("goodput: the same seed gives the same bytes on one and two threads",
          "[planner][goodput]") {
  const Scenario scenario = scenario_operated_by(full);
  const std::string one = goodput_json(study_goodput(scenario, few(1)));
  CHECK(one == goodput_json(study_goodput(scenario, few(2))));
  GoodputOptions other = few();
  other.seed = 2;
  CHECK(one != goodput_json(study_goodput(scenario, other)));
}

TEST_CASE("goodput: rows of a life cover it once", "[planner][goodput]") {
  const GoodputStudy study = study_goodput(scenario_operated_by(full), few());
  const std::vector<LifeRow> rows = life_rows(study.life);
  REQUIRE_FALSE(rows.empty());
  Seconds last;
  Seconds down;
  Seconds lost;
  int interruptions = 0;
  for (const LifeRow& row : rows) {
    CHECK(row.from == last);
    last = row.to;
    down += row.down;
    lost += row.lost;
    interruptions += row.interruptions;
  }
  CHECK(last == study.life.split.total());
  CHECK(interruptions == Approx(study.life.interruptions));
  CHECK(lost.value() == Approx(study.life.split.lost.value()));
  const RunSplit& split = study.life.split;
  CHECK(down.value() == Approx((split.detection + split.restart + split.waiting).value()));
}

TEST_CASE("goodput: the picture is one document with a bar per stop", "[planner][goodput]") {
  const GoodputStudy study = study_goodput(scenario_operated_by(full), few());
  const std::string svg = scene_svg(life_chart(study, picture_space({}, 1200.0)));
  CHECK(svg.starts_with("<?xml"));
  CHECK(svg.find("<svg") < 100);
  CHECK(svg.ends_with("</svg>\n"));
  std::size_t bars = 0;
  for (std::size_t at = svg.find("<title>interruption on day"); at != std::string::npos;
       at = svg.find("<title>interruption on day", at + 1))
    ++bars;
  CHECK(bars >= study.life.stops.size());
}

TEST_CASE("goodput: text fits into eighty columns and names every part", "[planner][goodput]") {
  const std::string text =
      answer_text(goodput_answer(study_goodput(scenario_operated_by(full), few())));
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    CHECK(end - begin <= 80);
    begin = end + 1;
  }
  for (const char* part : {"scheduling", "runtime", "program", "productive time", "lost work",
                           "Young 1974", "Daly 2006", "One simulated run"}) {
    CAPTURE(part, text);
    CHECK(test::has(text, part));
  }
}

TEST_CASE("goodput: input that is too slow is part of the step", "[planner][goodput]") {
  const Report fast = evaluate(scenario_operated_by("  queue: 1 h\n"));
  const Report slow =
      evaluate(scenario_operated_by("  data_loading: {workers: 1, tokens_per_worker: 5 k}\n"));
  CHECK(slow.prediction.step->breakdown.input > Seconds{});
  CHECK(slow.prediction.step->time.value() == Approx(64.0 * 8192.0 / (16.0 * 5000.0)));
  CHECK(fast.prediction.step->breakdown.input == Seconds{});
}

namespace {

/// What the committed schema says against a document; empty when it is valid.
std::string goodput_schema_errors(const nlohmann::json& document) {
  return test::schema_errors(
      std::filesystem::path(FORETRAIN_SOURCE_DIR) / "planner/schemas/goodput.schema.json",
      document);
}

/// Operations with odd numbers: everything that can go wrong goes wrong somewhere.
std::string operations(int number) {
  const auto odd = [&](double scale) { return std::to_string(scale * (1.0 + 0.137 * number)); };
  std::string text =
      "  mean_time_between_interruptions: " + odd(2.0) + " h\n  recovery: {detection: " + odd(1.1) +
      " min, reschedule: 3 min, reload: " + odd(0.7) + " min}\n  checkpoint: {every: " + odd(11.0) +
      " min, write_bandwidth: 5 GB/s}\n  deadline: " + odd(3.0) + " d\n";
  if (number % 2 == 1)
    text += "  preemption: {every: " + odd(9.0) + " h, wait: " + odd(20.0) + " min}\n";
  return text;
}

}  // namespace

TEST_CASE(
    "goodput: whatever goes wrong, the JSON keeps its schema: no time below 0, no share above 1",
    "[planner][goodput][property]") {
  for (int number = 0; number < 16; ++number) {
    CAPTURE(number);
    GoodputOptions options = few();
    options.trials = 7 + number;
    const GoodputStudy study = study_goodput(scenario_operated_by(operations(number)), options);
    REQUIRE(study.model.has_value());
    nlohmann::json document = nlohmann::json::parse(goodput_json(study));
    CHECK(goodput_schema_errors(document).empty());
    document["run"] = nlohmann::json::parse(report_json(study.report)).at("run");
    CHECK(goodput_schema_errors(document).empty());
    document["simulated"]["goodput_p90"] = 1.0000000000000002;
    CHECK_FALSE(goodput_schema_errors(document).empty());
    document["simulated"]["goodput_p90"] = 1;
    document["simulated"]["split"]["slow_s"] = -1.2e-5;
    CHECK_FALSE(goodput_schema_errors(document).empty());
  }
}
