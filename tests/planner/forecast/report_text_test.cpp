// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>

#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/forecast/waterfall.hpp"
#include "tests/planner/fixtures.hpp"
#include "tests/test_text.hpp"

using namespace foretrain;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string line_with(const std::string& text, const std::string& part) {
  for (const std::string& line : lines_of(text))
    if (test::has(line, part)) return line;
  return "";
}

std::vector<Report> all_reports() {
  std::vector<Report> reports{fixtures::fitting(), fixtures::out_of_memory(), fixtures::illegal()};
  for (const int stages : {1, 2, 16, 17, 64}) reports.push_back(fixtures::with_stages(stages));
  Report wordy = fixtures::fitting();
  wordy.scenario.job.name = std::string(200, 'n');
  wordy.scenario.job.model.title = std::string(150, 't');
  std::string endless(300, 'w');
  endless += " and more words";
  wordy.prediction.warnings.push_back({"a-warning", endless});
  wordy.prediction.kernels.source = "a source with " + std::string(120, 's');
  wordy.budget = {{{"step.time_s", 4.2, std::nullopt, 12}, 4.9, false}};
  reports.push_back(wordy);
  return reports;
}

}  // namespace

TEST_CASE("no line of a report is wider than the screen", "[planner][text][property]") {
  const int width = GENERATE(60, 80, 81, 132);
  const bool unicode = GENERATE(false, true);
  const bool color = GENERATE(false, true);
  const TextStyle style{width, unicode, color};
  for (const Report& report : all_reports())
    for (const std::string& line : lines_of(report_text(report, style))) {
      INFO(line);
      CHECK(display_width(line) <= width);
      CHECK_FALSE(line.ends_with(' '));
    }
}

TEST_CASE("plain style prints neither colour nor blocks", "[planner][text]") {
  for (const Report& report : all_reports()) {
    const std::string text = report_text(report);
    CHECK_FALSE(test::has(text, "\x1b"));
    CHECK_FALSE(test::has(text, "█"));
  }
}

TEST_CASE("the waterfall starts at the ideal and sums to the step", "[planner][text]") {
  const Report report = fixtures::fitting();
  const auto parts = waterfall(report.scenario.job, report.prediction);
  Seconds sum;
  for (const WaterfallPart& part : parts) sum += part.time;
  CHECK(sum.value() == Approx(report.prediction.step->time.value()).epsilon(1e-12));
  // 1.82e18 FLOP over 1024 GPUs of 989.5 TFLOP/s
  CHECK(parts.front().time.value() == Approx(1.82e18 / (1024 * 989.5e12)));
  // A part that is zero (input) is not shown.
  CHECK(std::none_of(parts.begin(), parts.end(), [](const auto& p) { return p.key == "input_s"; }));
}

TEST_CASE("no part of a waterfall is shorter than a microsecond", "[planner][text]") {
  Report report = fixtures::fitting();
  StepForecast& step = *report.prediction.step;
  step.breakdown.bubble = Seconds{4e-15};
  step.breakdown.data = 0.9 * us;
  step.breakdown.launch = 1.1 * us;
  step.time = step.breakdown.total();
  Seconds sum;
  for (const WaterfallPart& part : whole_waterfall(report.scenario.job, report.prediction)) {
    CAPTURE(part.key, part.time.value());
    CHECK((part.time == Seconds{} || part.time >= 1.0 * us));
    sum += part.time;
  }
  CHECK(sum.value() == Approx(step.time.value()).epsilon(1e-14));
  const auto shown = waterfall(report.scenario.job, report.prediction);
  const auto has = [&](const std::string& key) {
    return std::any_of(shown.begin(), shown.end(), [&](const auto& p) { return p.key == key; });
  };
  CHECK_FALSE(has("bubble_s"));
  CHECK_FALSE(has("data_s"));
  CHECK(has("launch_s"));
}

TEST_CASE("kernels that skip counted work show as a negative part", "[planner][text]") {
  Report report = fixtures::fitting();
  report.prediction.flops->model_per_step = Flop{4e18};
  const std::string text = block_text(waterfall_table(report.scenario.job, report.prediction));
  CHECK(test::has(line_with(text, "kernels below peak"), "-"));
  for (const std::string& line : lines_of(text)) CHECK(display_width(line) <= 80);
}

TEST_CASE("MFU stands with its peak and convention on one line", "[planner][text]") {
  const std::string line =
      line_with(report_text(fixtures::fitting(), {120, false, false}), "MFU  ");
  CHECK(test::has(line, "42.0 %"));
  CHECK(test::has(line, "989.5 TFLOP/s"));
  CHECK(test::has(line, "dense bf16"));
  CHECK(test::has(line, "full attention"));
}

TEST_CASE("the heaviest stage is marked", "[planner][text]") {
  const std::string text = report_text(fixtures::fitting());
  CHECK(line_with(text, "  > ").starts_with("  > 0 "));
  CHECK(test::has(text, "Stage 0 in detail, peak in the forward of the last warm-up micro-batch"));
}

TEST_CASE("stages with equal memory share a line", "[planner][text]") {
  Report report = fixtures::fitting();
  auto& stages = report.prediction.memory->stages;
  for (std::size_t i = 2; i < 7; ++i) {
    const int number = stages[i].stage;
    stages[i] = stages[1];
    stages[i].stage = number;
  }
  const auto groups = stage_groups(*report.prediction.memory);
  REQUIRE(groups.size() == 3);
  CHECK(groups[1].name(*report.prediction.memory) == "1-6");
  CHECK_FALSE(line_with(report_text(report), "    1-6 ").empty());
}

TEST_CASE("many different stages are cut to the heaviest", "[planner][text]") {
  const std::string text = report_text(fixtures::with_stages(64));
  CHECK(test::has(text, "lighter stages not shown; the lightest is 63"));
}

TEST_CASE("out of memory names the stage, the missing bytes and the way out", "[planner][text]") {
  const std::string text = report_text(fixtures::out_of_memory());
  CHECK(test::has(lines_of(text).front(), "OUT OF MEMORY"));
  CHECK(test::has(text, "stage 0 needs 90.6 GiB of 79.1 GiB: 11.5 GiB too much"));
  CHECK(test::has(text, "--set memory.recompute=full"));
  CHECK(test::has(text, "parallel.tensor=16 parallel.data=8"));
  CHECK(test::has(line_with(text, "parallel.zero=3"), "not modelled"));
}

TEST_CASE("an illegal plan says rule, key and remedy", "[planner][text]") {
  const std::string text = report_text(fixtures::illegal());
  CHECK(test::has(lines_of(text).front(), "NOT A LEGAL PLAN"));
  CHECK(test::has(text, "kv-heads-divide-tensor"));
  CHECK(test::has(text, "parallel.tensor"));
  CHECK(test::has(text, "tensor 2 or 4"));
  CHECK(test::has(text, "gpus-match"));
}

TEST_CASE("a price appears only when one was given", "[planner][text]") {
  Report report = fixtures::fitting();
  CHECK(test::has(report_text(report), "$2.50 per GPU-hour"));
  report.scenario.job.operations.price_per_gpu.reset();
  report.prediction.cost.price.reset();
  warn_of_unknowns(report.scenario.job, report.prediction);
  const std::string text = report_text(report);
  CHECK_FALSE(test::has(text, "$"));
  CHECK(test::has(text, "operations.price"));
}

TEST_CASE("whatever is null has a warning", "[planner]") {
  Report report = fixtures::fitting();
  report.scenario.job.training.tokens.reset();
  report.scenario.job.operations.price_per_gpu.reset();
  report.prediction.run = {};
  report.prediction.cost = {};
  report.prediction.warnings.clear();
  warn_of_unknowns(report.scenario.job, report.prediction);
  std::vector<std::string> ids;
  for (const Warning& warning : report.prediction.warnings) ids.push_back(warning.id);
  CHECK(ids == std::vector<std::string>{"unknown-run", "unknown-percentiles", "unknown-price",
                                        "unknown-energy"});
}
