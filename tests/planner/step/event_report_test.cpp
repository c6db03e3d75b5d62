// SPDX-License-Identifier: Apache-2.0
#include "planner/step/event_report.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "models/base/ranges.hpp"
#include "planner/answer/answer.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/step/link_causes.hpp"
#include "planner/text/usage_error.hpp"
#include "tests/test_text.hpp"

using namespace foretrain;

namespace {

EventReport played(const std::string& file, std::vector<std::string> overrides = {},
                   const EventOptions& options = {}) {
  return evaluate_event(
      load_scenario(FORETRAIN_SOURCE_DIR "/scenarios/" + file, {std::move(overrides), {}}),
      AttentionFlops::full, options);
}

}  // namespace

TEST_CASE("event report: the busiest links are told with their use", "[planner][events]") {
  const EventReport event = played("llama2-70b-1024xh100.yaml");
  const Prediction& prediction = event.report.prediction;
  REQUIRE(prediction.engine == EngineKind::event);
  REQUIRE(prediction.links.size() == 32);
  for (std::size_t i = 1; i < prediction.links.size(); ++i)
    CHECK(prediction.links[i - 1].utilisation >= prediction.links[i].utilisation);
  const std::string text = report_text(event.report, TextStyle{});
  CHECK(test::has(text, "Busiest links"));
  CHECK(test::has(text, prediction.links.front().name));
  CHECK(test::has(played_text(event), "2 of 16 data replicas"));
  CHECK(test::has(report_json(event.report), "\"engine\": \"event\""));
}

TEST_CASE("event report: the same seed gives the same bytes, another one other collisions",
          "[planner][events]") {
  const std::string file = "gpt3-175b-1024xa100.yaml";
  const auto bytes = [&](const std::string& seed) {
    return report_json(played(file, {"simulation.seed=" + seed, "simulation.unfold=true"}).report);
  };
  const std::string first = bytes("1");
  CHECK(first == bytes("1"));
  CHECK(first != bytes("2"));
}

TEST_CASE("event report: a run that is stopped tells how far it came", "[planner][events]") {
  EventOptions options;
  ReplayProgress progress;
  options.on_progress = [&](const ReplayProgress& now) {
    progress = now;
    return now.ended == 0;  // routes are laid out first
  };
  const EventReport event =
      played("llama2-70b-1024xh100.yaml", {"simulation.unfold=true"}, options);
  REQUIRE(event.run.has_value());
  REQUIRE(event.run->stopped);
  REQUIRE(progress.ended > 0);
  REQUIRE(progress.ended < progress.tasks);
  CHECK_FALSE(event.report.prediction.step.has_value());
  CHECK_FALSE(event.report.prediction.efficiency.has_value());
  const std::string text = stopped_text(event, progress, TextStyle{});
  CHECK(test::has(text, "at least"));
  CHECK(test::has(text, "memory"));
}

TEST_CASE("event report: a run may be stopped while its routes are laid out", "[planner][events]") {
  EventOptions options;
  int asked = 0;
  options.on_progress = [&](const ReplayProgress& now) {
    CHECK(now.ended == 0);
    ++asked;
    return false;
  };
  const EventReport event = played("llama2-70b-1024xh100.yaml", {}, options);
  CHECK(asked == 1);
  REQUIRE(event.run.has_value());
  CHECK(event.run->stopped);
  CHECK_FALSE(event.report.prediction.step.has_value());
  CHECK(test::has(stopped_text(event, {}, TextStyle{}), "before its first task"));
}

TEST_CASE("event report: the heat of links is drawn from idle to the busiest",
          "[planner][events]") {
  const EventReport event = played("llama2-70b-1024xh100.yaml");
  const std::string svg = scene_svg(heat_chart(event));
  CHECK(test::has(svg, "use of links"));
  CHECK(test::has(svg, "busiest cable in use"));
  CHECK(test::has(svg, "#c81010"));
  CHECK(svg.size() < 2'000'000);
}

TEST_CASE("event report: watched links show when they are used", "[planner][events]") {
  EventOptions options;
  options.watched_links = 4;
  const EventReport event = played("llama2-70b-1024xh100.yaml", {}, options);
  const auto counters = link_counters(event);
  REQUIRE(counters.size() == 4);
  for (const TraceCounter& counter : counters) {
    double most = 0.0;
    for (std::size_t i = 0; i < counter.points.size(); ++i) {
      if (i > 0) CHECK(counter.points[i - 1].time < counter.points[i].time);
      most = std::max(most, counter.points[i].value);
    }
    CHECK(most > 10.0);
    CHECK(most <= 100.0);
    CHECK(counter.points.back().value == Approx(0.0).margin(1e-3));
  }
}

TEST_CASE("link causes: exchanges of a link add up to its bytes, the most first",
          "[planner][events]") {
  const Scenario scenario =
      load_scenario(FORETRAIN_SOURCE_DIR "/scenarios/llama2-70b-1024xh100.yaml", {});
  const EventReport event = play_for_links(scenario, AttentionFlops::full, {});
  REQUIRE(event.run.has_value());
  REQUIRE(event.run->explained.size() == 4);  // NVLink, NIC, PCIe, leaf to spine
  for (const ExplainedLink& link : event.run->explained) {
    double bytes = 0.0;
    double before = std::numeric_limits<double>::infinity();
    for (const LinkExchange& exchange : link.exchanges) {
      bytes += exchange.bytes.value();
      CHECK(exchange.bytes.value() <= before);
      before = exchange.bytes.value();
      if (exchange.count > 0) CHECK(exchange.took >= exchange.alone * (1.0 - 1e-9));
    }
    CHECK(bytes == Approx(event.run->link_bytes[index(link.link)]));
  }
  const std::string text = answer_text(link_causes_answer(event, "run.yaml"));
  CHECK(test::has(text, "tensor all-gather"));
  CHECK(test::has(text, "in passes"));
  CHECK(test::has(text, "data-parallel reduce-scatter"));
  const auto json = nlohmann::json::parse(link_causes_json(event));
  CHECK(json["schema"] == "link-causes/1");
  CHECK(json["links"][0]["exchanges"][0]["took_s"].is_null());
}

TEST_CASE("link causes: passes that gather weights and those that also scatter gradients are two",
          "[planner][events]") {
  LoadOptions options;
  options.overrides = {"cluster.hosts=4"};
  const Scenario scenario =
      load_scenario(FORETRAIN_SOURCE_DIR "/scenarios/llama3.1-8b-sft-8xh100.yaml", options);
  const EventReport event = play_for_links(scenario, AttentionFlops::full, {});
  REQUIRE(event.run.has_value());
  const LinkExchange* gathers = nullptr;
  const LinkExchange* both = nullptr;
  for (const LinkExchange& one : event.run->explained.front().exchanges) {
    if (one.name == "data-parallel all-gather") gathers = &one;
    if (one.name == "data-parallel all-gather, data-parallel reduce-scatter") both = &one;
  }
  REQUIRE(gathers != nullptr);
  REQUIRE(both != nullptr);
  CHECK(both->bytes > gathers->bytes);
}

TEST_CASE("link causes: one link by its name, and a name that no link has", "[planner][events]") {
  const Scenario scenario =
      load_scenario(FORETRAIN_SOURCE_DIR "/scenarios/llama2-70b-1024xh100.yaml", {});
  LinkQuestion question;
  question.name = "nic16.0>leaf0";
  const EventReport event = play_for_links(scenario, AttentionFlops::full, question);
  REQUIRE(event.run.has_value());
  REQUIRE(event.run->explained.size() == 1);
  CHECK(link_name(event.fabric, event.run->explained[0].link) == question.name);
  for (const char* name : {"nic16.0", "nic16.0>spine99", "tor>leaf0"}) {
    question.name = name;
    CHECK_THROWS_AS(play_for_links(scenario, AttentionFlops::full, question), UsageError);
  }
}
