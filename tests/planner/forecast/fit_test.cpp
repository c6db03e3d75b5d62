// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/grid/process_grid.hpp"
#include "models/rules/plan_rules.hpp"
#include "planner/forecast/fit_room.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/scene/scene.hpp"
#include "tests/planner/forecast/shipped_scenario.hpp"

using namespace foretrain;

namespace {

using test::scenario_with;

Scenario tight() {
  return scenario_with(
      {"parallel.tensor=2", "parallel.pipeline=4", "parallel.data=128", "memory.recompute=none"});
}

bool legal_and_fits(const Job& job) {
  return broken_rules(job).empty() &&
         !memory_excess({}, job.cluster.host.device,
                        memory_need(job, stage_layout(job.model, job.parallel)));
}

/// The largest of 1 * step .. most that is legal and fits, by trying all; 0: none.
int by_brute_force(const Job& job, int step, int most, const std::function<void(Job&, int)>& set) {
  int best = 0;
  for (int value = step; value <= most; value += step) {
    Job changed = job;
    set(changed, value);
    if (legal_and_fits(changed)) best = value;
  }
  return best;
}

/// Tags that open and close in order; enough of XML for what we draw.
bool tags_balance(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag.starts_with('?') || tag.starts_with('!') || tag.ends_with('/')) continue;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  return open.empty();
}

}  // namespace

TEST_CASE("the verdict is that of reserved memory plus context against what is usable",
          "[planner][fit]") {
  const FitReport fits = judge_fit(scenario_with({}));
  REQUIRE(fits.memory.has_value());
  CHECK(fits.verdict == FitVerdict::fits);
  CHECK(fits.changes.empty());
  CHECK(fits.band.high <= fits.memory->usable);
  for (const StageMemory& stage : fits.memory->stages)
    CHECK(stage.peak.value() ==
          Approx((stage.reserved + stage.communication + stage.context).value()));

  const FitReport not_fitting = judge_fit(tight());
  REQUIRE(not_fitting.memory.has_value());
  CHECK(not_fitting.verdict == FitVerdict::does_not_fit);
  CHECK(not_fitting.memory->peak > not_fitting.memory->usable);
  CHECK_FALSE(not_fitting.changes.empty());
}

TEST_CASE("a plan whose band reaches over what is usable fits barely", "[planner][fit]") {
  Scenario scenario = scenario_with({});
  const Bytes peak = judge_fit(scenario).memory->peak;
  scenario.job.cluster.host.device.usable_memory = peak * 1.001;
  const FitReport report = judge_fit(scenario);
  CHECK(report.verdict == FitVerdict::fits_barely);
  CHECK(report.band.low < report.memory->peak);
  CHECK(report.memory->peak < report.band.high);
  CHECK(answer_text(fit_answer(report)).find("FITS BARELY") != std::string::npos);
}

TEST_CASE("a plan whose band reaches below what is usable may fit, and is no refusal",
          "[planner][fit]") {
  Scenario scenario = scenario_with({});
  const MemoryForecast memory = *judge_fit(scenario).memory;
  REQUIRE(memory.low < memory.peak);
  Bytes& usable = scenario.job.cluster.host.device.usable_memory;
  usable = 0.5 * (memory.low + memory.peak);
  const FitReport report = judge_fit(scenario);
  CHECK(report.verdict == FitVerdict::may_not_fit);
  CHECK(report.memory->may_fit());
  CHECK_FALSE(report.memory->fits());
  CHECK_FALSE(report.changes.empty());
  CHECK(answer_text(fit_answer(report)).find("MAY NOT FIT") != std::string::npos);
  CHECK(memory_verdict(*report.memory).find("at the lower end of its band") != std::string::npos);

  // The whole forecast stands, with what makes it safe; a search would not offer it.
  const Report forecast = evaluate(scenario);
  CHECK(forecast.prediction.feasible());
  CHECK(forecast.prediction.step.has_value());
  CHECK(run_verdict(forecast.prediction) == Verdict::at_risk);
  CHECK(verdict_words(forecast.prediction) == "MAY NOT FIT");
  CHECK_FALSE(forecast.changes.empty());
  CHECK(memory_excess({}, scenario.job.cluster.host.device, report.memory->need()).has_value());

  usable = 0.9 * memory.low;
  CHECK(judge_fit(scenario).verdict == FitVerdict::does_not_fit);
  CHECK_FALSE(evaluate(scenario).prediction.feasible());
}

TEST_CASE("device memory at the forecast's own bytes is the forecast's peak", "[planner][fit]") {
  for (const Scenario& scenario : {scenario_with({}), tight()}) {
    const FitReport report = judge_fit(scenario);
    for (const StageMemory& stage : report.memory->stages)
      CHECK(device_memory(scenario.job, stage, 1.0).value() ==
            Approx(stage.peak.value()).epsilon(1e-12));
  }
}

TEST_CASE("the band covers all counters, and the cache widens it", "[planner][fit]") {
  const FitReport report = judge_fit(scenario_with({}));
  const StageMemory& heaviest =
      report.memory->stages[static_cast<std::size_t>(report.memory->peak_stage)];
  const MemoryBand& band = report.band;
  CHECK(band.reserved_share >= band.share);
  CHECK(band.allocated.low.value() == Approx(heaviest.allocated.value() * (1.0 - band.share)));
  CHECK(band.allocated.high.value() == Approx(heaviest.allocated.value() * (1.0 + band.share)));
  CHECK(band.reserved.low < heaviest.reserved);
  CHECK(heaviest.reserved < band.reserved.high);
  CHECK(band.low < report.memory->peak);
  CHECK(report.memory->peak < band.high);
  CHECK(band.reserved.high < band.high);
  const auto json = nlohmann::json::parse(fit_json(report));
  CHECK(json.at("band").at("reserved_high_bytes") == band.reserved.high.value());
}

TEST_CASE("a rank is told with its place and its stage's bytes", "[planner][fit]") {
  const FitReport report = judge_fit(scenario_with({}));
  const Parallel& plan = report.scenario.job.parallel;
  const int rank = plan.gpus() - 1;
  const FitView view{.stage = ProcessGrid{plan}.place(rank).stage, .rank = rank};
  const auto json = nlohmann::json::parse(fit_json(report, view)).at("rank");
  CHECK(json.at("stage") == plan.pipeline - 1);
  CHECK(json.at("tensor") == plan.tensor - 1);
  CHECK(json.at("data") == plan.data - 1);
  CHECK(json.at("device_bytes") == report.memory->stages.back().peak.value());
  const std::string text = answer_text(fit_answer(report, view));
  CHECK(text.find("stage " + std::to_string(plan.pipeline - 1) + ", data") != std::string::npos);
  CHECK_FALSE(nlohmann::json::parse(fit_json(report)).contains("rank"));
}

TEST_CASE("GPU 0 of one process for all is told apart from the others", "[planner][fit]") {
  const FitReport report = judge_fit(scenario_with({}, "basics/replicas-dp.yaml"));
  REQUIRE(report.memory);
  REQUIRE(report.memory->replica);
  const std::string text = answer_text(fit_answer(report, {.rank = 0}), {200, false, false});
  CHECK(text.find("GPU 0 (rank 0) is the heaviest") != std::string::npos);
  CHECK(text.find("GPU 0, which alone holds optimizer states") != std::string::npos);
  CHECK(text.find("\n    others ") != std::string::npos);
  CHECK(text.find("optimizer states") != std::string::npos);
  const std::string other =
      answer_text(fit_answer(report, {.timeline = true, .rank = 3}), {200, false, false});
  CHECK(other.find("a copy of GPU 0's weights") != std::string::npos);
  CHECK(other.find("optimizer: ") == std::string::npos);
  const auto json = nlohmann::json::parse(fit_json(report, {.rank = 3}));
  CHECK(json.at("heaviest_rank") == 0);
  CHECK(json.at("other_ranks_peak_bytes") == report.memory->replica->peak.value());
  CHECK(json.at("rank").at("device_bytes") == report.memory->replica->peak.value());
  const FitReport ddp = judge_fit(scenario_with({}, "basics/replicas-ddp.yaml"));
  CHECK_FALSE(nlohmann::json::parse(fit_json(ddp)).contains("heaviest_rank"));
}

TEST_CASE("a process per GPU is among what makes one process for all fit", "[planner][fit]") {
  const FitReport report = judge_fit(
      scenario_with({"parallel.processes=per-host", "model=llama3.2-1b", "training.micro_batch=2"},
                    "basics/one-host-ddp.yaml"));
  CHECK_FALSE(report.memory->fits());
  CHECK(std::any_of(report.changes.begin(), report.changes.end(), [](const Change& change) {
    return change.settings == std::vector<std::string>{"parallel.processes=per-gpu"};
  }));
}

TEST_CASE("an illegal plan is told with its rules and without memory", "[planner][fit]") {
  const FitReport report = judge_fit(scenario_with({"training.global_batch=1000"}));
  CHECK(report.verdict == FitVerdict::illegal);
  REQUIRE_FALSE(report.reasons.empty());
  CHECK(report.reasons.front().rule == "batch-divides");
  CHECK_FALSE(report.memory.has_value());
  CHECK(answer_text(fit_answer(report)).find("NOT A LEGAL PLAN") != std::string::npos);
  const auto json = nlohmann::json::parse(fit_json(report));
  CHECK(json.at("verdict") == "illegal");
  CHECK_FALSE(json.contains("stages"));
}

TEST_CASE("room searches agree with trying every value", "[planner][fit]") {
  const auto overrides =
      GENERATE(std::vector<std::string>{}, std::vector<std::string>{"memory.recompute=full"},
               std::vector<std::string>{"parallel.tensor=2", "parallel.pipeline=4",
                                        "parallel.data=128", "memory.recompute=none"});
  const Job job = scenario_with(overrides).job;
  const int replica = job.training.global_batch / job.parallel.data;
  CHECK(room_of_micro_batch(job).largest.value_or(0) ==
        by_brute_force(job, 1, replica, [](Job& j, int v) { j.training.micro_batch = v; }));

  const Room sequence = room_of_sequence(job);
  REQUIRE(sequence.largest.has_value());
  CHECK(*sequence.largest == by_brute_force(job, 128, *sequence.largest + 16384,
                                            [](Job& j, int v) { j.training.sequence = v; }));

  const Room layers = room_of_layers(job);
  REQUIRE(layers.largest.has_value());
  CHECK(*layers.largest == by_brute_force(job, 1, *layers.largest + 4 * job.parallel.pipeline,
                                          [](Job& j, int v) { j.model.layers = v; }));
}

TEST_CASE("room tells the peak at the largest value and what stops the next", "[planner][fit]") {
  const Job job = scenario_with({}).job;
  const Room room = room_of_sequence(job);
  REQUIRE(room.largest.has_value());
  REQUIRE(room.peak.has_value());
  Job changed = job;
  changed.training.sequence = *room.largest;
  CHECK(room.peak->value() ==
        peak_memory(changed, stage_layout(changed.model, changed.parallel)).value());
  CHECK(room.bound == RoomBound::memory);
  CHECK(room.why.find("would need") != std::string::npos);
}

TEST_CASE("where a rule and not memory is the bound, the rule is named", "[planner][fit]") {
  // Eight micro-batches on 16 interleaved stages: fewer of them are not legal.
  const Room batch = room_of_micro_batch(scenario_with({}, "llama3.1-405b-16384xh100.yaml").job);
  CHECK(batch.bound == RoomBound::rule);
  CHECK(batch.rule == "interleaved-microbatches");
  Job job = scenario_with({}).job;
  job.parallel.stage_layers.assign(static_cast<std::size_t>(job.parallel.pipeline),
                                   job.model.layers / job.parallel.pipeline);
  const Room layers = room_of_layers(job);
  CHECK(layers.largest == job.model.layers);
  CHECK(layers.rule == "stage-layers-sum");
}

TEST_CASE("learned positions bound the sequence", "[planner][fit]") {
  const Job job = scenario_with({}, "gpt3-175b-1024xa100.yaml").job;
  REQUIRE(job.model.position == PositionKind::learned);
  const Room room = room_of_sequence(job);
  REQUIRE(room.largest.has_value());
  CHECK(*room.largest <= job.model.positions);
  if (*room.largest == job.model.positions) CHECK(room.rule == "learned-positions");
}

TEST_CASE("the JSON's rows and categories sum to the device memory of their stage",
          "[planner][fit]") {
  const FitReport report = judge_fit(tight());
  const auto json = nlohmann::json::parse(fit_json(report, {.stage = 2}));
  CHECK(json.at("schema") == "memory/1");
  CHECK(json.at("verdict") == "does-not-fit");
  CHECK(json.at("selected_stage") == 2);
  CHECK(json.at("headroom_bytes").get<double>() < 0.0);
  REQUIRE(json.at("stages").size() == 4);
  for (const auto& stage : json.at("stages")) {
    double rows = 0.0;
    for (const auto& row : stage.at("rows")) {
      rows += row.at("bytes").get<double>();
      CHECK_FALSE(row.at("reason").get<std::string>().empty());
    }
    double categories = 0.0;
    for (const char* key : {"weights", "gradients", "optimizer", "activations", "buffers",
                            "communication", "context", "fragmentation"})
      categories += stage.at(std::string(key) + "_bytes").get<double>();
    const double device = stage.at("device_bytes");
    CHECK(rows == Approx(device).epsilon(1e-12));
    CHECK(categories == Approx(device).epsilon(1e-12));
    double peak = 0.0;
    for (const auto& phase : stage.at("phases"))
      peak = std::max(peak, phase.at("allocated_bytes").get<double>());
    CHECK(peak == Approx(stage.at("allocated_bytes").get<double>()).epsilon(1e-12));
    CHECK(stage.at("phases").at(0).at("allocated_bytes") == stage.at("resident_bytes"));
  }
}

TEST_CASE("plans whose step time is not modelled are judged too", "[planner][fit]") {
  const FitReport report =
      judge_fit(scenario_with({"memory.offload=optimizer+parameters", "training.precision=fp8"}));
  REQUIRE(report.reasons.empty());
  CHECK(report.memory.has_value());
  CHECK(report.room.size() == 3);
}

TEST_CASE("the text shows the stage that was asked for and stays within its width",
          "[planner][fit]") {
  const FitReport report = judge_fit(tight());
  for (const int width : {60, 80, 132}) {
    const std::string text = answer_text(fit_answer(report, {2, true}), {width, false, false});
    CHECK(text.find("Stage 2 in detail") != std::string::npos);
    CHECK(text.find("Stage 2 over a step") != std::string::npos);
    CHECK(text.find("Changes that fit") != std::string::npos);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(width, line);
      CHECK(display_width(line) <= width);
    }
  }
}

TEST_CASE("the picture has a bar per stage, both limits, and is well formed", "[planner][fit]") {
  const MemoryForecast memory = *judge_fit(tight()).memory;
  const std::string svg = scene_svg(memory_chart(memory, picture_space("a <b> & \"c\"")));
  CHECK(tags_balance(svg));
  CHECK(svg.find("a &lt;b&gt; &amp; &quot;c&quot;") != std::string::npos);
  for (const StageMemory& stage : memory.stages)
    CHECK(svg.find("weights, stage " + std::to_string(stage.stage)) != std::string::npos);
  CHECK(svg.find("device 80.0 GiB, usable 79.1 GiB") != std::string::npos);
  CHECK_FALSE(tags_balance("<g><rect></g>"));
}
