// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "calibration/diagnosis/diagnose.hpp"
#include "calibration/diagnosis/hypotheses.hpp"
#include "calibration/diagnosis/likelihood.hpp"
#include "calibration/training_logs/read_training_log.hpp"
#include "models/grid/stage_layout.hpp"
#include "planner/diagnosis/diagnosis_report.hpp"
#include "planner/page/answer_page.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "sim/step/event_run.hpp"
#include "tests/planner/diagnosis/fault_cases.hpp"
#include "tests/sim/job_fabric.hpp"

using namespace foretrain;
using namespace foretrain::test;

namespace {

Job job_of(const char* name, const std::vector<std::string>& overrides = {}) {
  LoadOptions options;
  options.overrides = overrides;
  return load_scenario(std::string(FORETRAIN_SOURCE_DIR) + "/scenarios/" + name + ".yaml", options)
      .job;
}

/// A log of equal steps.
TrainingLog steady_log(double seconds) {
  TrainingLog log;
  log.format = "megatron-lm";
  log.step = LoggedSteps{seconds, seconds, seconds, 100, "step times that the log prints"};
  for (long step = 1; step <= 105; ++step)
    log.series.push_back({step, static_cast<float>(seconds), std::nan("")});
  return log;
}

/// The timers of a run that does what is expected.
void add_timers(TrainingLog& log, const ExpectedRun& run) {
  for (const LogSection section :
       {LogSection::forward, LogSection::backward, LogSection::gradients, LogSection::optimizer})
    log.clues.sections[section] = {run.sections.at(section).least, run.sections.at(section).most,
                                   100};
}

bool is_tied(const Diagnosis& diagnosis, std::string_view cause) {
  const auto end = diagnosis.explanations.begin() + static_cast<std::ptrdiff_t>(diagnosis.tied);
  return std::any_of(diagnosis.explanations.begin(), end, [&](const StepExplanation& one) {
    return std::find(one.causes.begin(), one.causes.end(), cause) != one.causes.end();
  });
}

EventRun played_on_fabric(const Job& job) {
  auto played = run_step(job, stage_layout(job.model, job.parallel), fabric_for(job));
  if (const auto* refused = std::get_if<Infeasible>(&played)) FAIL(refused->message);
  return std::get<EventRun>(std::move(played));
}

Disturbance disturbance(DisturbanceKind kind, std::string target, double factor = 1.0) {
  Disturbance one;
  one.kind = kind;
  one.target = std::move(target);
  one.factor = factor;
  return one;
}

const std::vector<std::string> four_hosts{"cluster.hosts=4", "cluster.fabric.kind=rail-optimized",
                                          "training.global_batch=32"};

}  // namespace

TEST_CASE("diagnosis: a run at its forecast is as forecast, whatever the scenario", "[diagnosis]") {
  for (const char* const name : {"llama3-8b-8xh100", "llama3.1-70b-1024xh100",
                                 "gpt3-175b-1024xa100", "qwen3-235b-256xgb200"}) {
    CAPTURE(name);
    const Job job = job_of(name);
    const Diagnosis found = diagnose(steady_log(expected_run(job).step), job);
    CHECK(found.as_forecast());
    CHECK(found.in_band);
    CHECK(found.causes.front().evidence.empty());
  }
}

TEST_CASE("diagnosis: likelihoods add up to one, and the waterfall to the measurement",
          "[diagnosis]") {
  const Job job = job_of("llama3.1-70b-1024xh100");
  const ExpectedRun expected = expected_run(job);
  for (const bool timed : {false, true}) {
    TrainingLog log = steady_log(1.4 * expected.step);
    if (timed) add_timers(log, expected);
    const Diagnosis found = diagnose(log, job);
    double likelihood = 0.0;
    for (const StepExplanation& one : found.explanations) likelihood += one.likelihood;
    CHECK(likelihood == Approx(1.0));
    double sum = 0.0;
    for (std::size_t i = 0; i + 1 < found.waterfall.size(); ++i) sum += found.waterfall[i].seconds;
    CHECK(sum == Approx(found.waterfall.back().seconds));
    CHECK(found.waterfall.front().seconds == Approx(expected.step));
    CHECK(found.waterfall.back().seconds == Approx(1.4 * expected.step));
  }
}

TEST_CASE("diagnosis: a level alone names no single cause", "[diagnosis]") {
  const Job job = job_of("llama3.1-70b-1024xh100");
  const Diagnosis found = diagnose(steady_log(1.6 * expected_run(job).step), job);
  CHECK_FALSE(found.as_forecast());
  CHECK(found.tied >= 3);
  CHECK(is_tied(found, "slow-clock"));
  CHECK(is_tied(found, "straggler"));
  CHECK(found.missing.size() == 4);
  for (const RankedCause& cause : found.causes)
    if (cause.id != as_forecast_id) CHECK_FALSE(cause.test.empty());
}

TEST_CASE("diagnosis: what no cause reaches is not explained", "[diagnosis]") {
  const Job job = job_of("llama3.1-70b-1024xh100");
  // Twice as fast, with passes that are: none of the causes makes a run faster but recomputation.
  const ExpectedRun expected = expected_run(job);
  TrainingLog log = steady_log(0.4 * expected.step);
  add_timers(log, expected);
  for (auto& [section, times] : log.clues.sections)
    times = {0.4 * times.least, 0.4 * times.most, 9};
  const Diagnosis found = diagnose(log, job);
  CHECK(found.explanations.front().causes.front() == unexplained_id);
}

namespace {

/// A record of each step, `seconds(step)` long; stamps by the clock, with pauses after steps.
template <class Duration, class Pause>
TrainingLog log_of(int steps, const Duration& seconds, const Pause& pause) {
  TrainingLog log = steady_log(1.0);
  log.series.clear();
  double now = 1000.0;
  std::vector<double> sorted;
  for (long step = 1; step <= steps; ++step) {
    now += seconds(step);
    log.series.push_back({step, static_cast<float>(seconds(step)), now});
    sorted.push_back(seconds(step));
    now += pause(step);
  }
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](double share) {
    return sorted[static_cast<std::size_t>(share * (steps - 1))];
  };
  log.step = LoggedSteps{at(0.5), at(0.1), at(0.9), steps, "step times that the log prints"};
  return log;
}

double no_pause(long /*step*/) { return 0.0; }

bool has_finding(const Diagnosis& diagnosis, FindingKind kind) {
  return std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                     [&](const RunFinding& one) { return one.kind == kind; });
}

std::string verdict_of(const TrainingLog& log, const Job& job) {
  DiagnosisReport report;
  report.job = job;
  report.log = log;
  report.diagnosis = diagnose(log, job);
  const auto json = nlohmann::json::parse(diagnosis_json(report));
  CHECK(json["as_forecast"].get<bool>() == report.diagnosis.as_forecast());
  CHECK(json["findings"].size() == report.diagnosis.findings.size());
  return diagnosis_verdict(report);
}

}  // namespace

TEST_CASE("diagnosis: outside the band no run is as forecast", "[diagnosis]") {
  for (const char* const name :
       {"llama3-8b-8xh100", "llama3.1-70b-1024xh100", "qwen3-235b-256xgb200"}) {
    const Job job = job_of(name);
    const double forecast = expected_band(job).time.value();
    for (const double ratio : {0.6, 0.8, 1.25, 1.32, 1.6}) {
      CAPTURE(name, ratio);
      const TrainingLog log = steady_log(ratio * forecast);
      const Diagnosis found = diagnose(log, job);
      if (found.in_band) continue;
      CHECK_FALSE(found.as_forecast());
      REQUIRE_FALSE(found.findings.empty());
      CHECK(found.findings.front().kind ==
            (ratio > 1.0 ? FindingKind::slower : FindingKind::faster));
      CHECK(found.findings.front().size == Approx(ratio - 1.0).margin(1e-4));
      const std::string verdict = verdict_of(log, job);
      CHECK(verdict.find("AS FORECAST") == std::string::npos);
      CHECK(verdict.find(fmt::format("{:.0f} % {} THAN FORECAST", 100.0 * std::abs(ratio - 1.0),
                                     ratio > 1.0 ? "SLOWER" : "FASTER")) == 0);
    }
  }
}

TEST_CASE("diagnosis: a drift, a slow first half and long passes are findings inside the band",
          "[diagnosis]") {
  const Job job = job_of("llama3.1-70b-1024xh100");
  const double forecast = expected_run(job).step;
  const TrainingLog drifting = log_of(
      200, [&](long step) { return forecast * (0.92 + 0.16 * static_cast<double>(step) / 200.0); },
      no_pause);
  const Diagnosis drift = diagnose(drifting, job);
  REQUIRE(drift.in_band);
  CHECK(has_finding(drift, FindingKind::drift));
  CHECK(verdict_of(drifting, job).find("STEPS GET SLOWER") == 0);

  const TrainingLog halves = log_of(
      200, [&](long step) { return forecast * (step <= 100 ? 1.13 : 0.92); }, no_pause);
  CHECK(has_finding(diagnose(halves, job), FindingKind::level_shift));
  CHECK(verdict_of(halves, job).find("SLOW UNTIL STEP 1") != std::string::npos);

  TrainingLog timed = steady_log(forecast);
  add_timers(timed, expected_run(job));
  CHECK(diagnose(timed, job).as_forecast());
  for (const LogSection section : {LogSection::forward, LogSection::backward}) {
    timed.clues.sections[section].least *= 1.25;
    timed.clues.sections[section].most *= 1.25;
  }
  const Diagnosis passes = diagnose(timed, job);
  REQUIRE(passes.in_band);
  REQUIRE(has_finding(passes, FindingKind::timers));
  CHECK(passes.findings.front().size == Approx(0.25));
}

TEST_CASE("diagnosis: what costs most time heads the page", "[diagnosis]") {
  const Job job = job_of("llama3-8b-8xh100");
  const double forecast = expected_run(job).step;
  // Every 50 steps a checkpoint takes ten steps; every 20th step is 15 % longer.
  const auto lasts = [&](long step) { return forecast * (step % 20 == 7 ? 1.15 : 1.0); };
  TrainingLog log =
      log_of(400, lasts, [&](long step) { return step % 50 == 0 ? 10.0 * forecast : 0.0; });
  for (long step = 50; step <= 400; step += 50)
    log.events.push_back({LogEventKind::checkpoint, step, 0, step, ""});
  const Diagnosis found = diagnose(log, job);
  REQUIRE(found.findings.size() == 2);
  CHECK(found.findings[0].kind == FindingKind::checkpoints);
  CHECK(found.findings[0].lost == Approx(70.0 / 467.0).epsilon(0.05));
  CHECK(found.findings[1].kind == FindingKind::slow_steps);
  CHECK(found.causes[0].id == "checkpoint-stalls");
  CHECK(found.causes[1].id == "garbage-collection");
  CHECK(found.causes[0].likelihood > 0.9);
  CHECK(found.causes[1].likelihood > 0.9);
  CHECK(verdict_of(log, job).find("% OF THE TIME IS LOST AT CHECKPOINTS") != std::string::npos);
  double sum = 0.0;
  for (std::size_t i = 0; i + 1 < found.wall_waterfall.size(); ++i)
    sum += found.wall_waterfall[i].seconds;
  CHECK(sum == Approx(*found.course.wall_seconds));

  // A third slower beside it: collections that cost a hundredth do not head the page.
  const TrainingLog slow = log_of(
      400, [&](long step) { return 1.35 * lasts(step); }, no_pause);
  const Diagnosis slower = diagnose(slow, job);
  CHECK(slower.findings.front().kind == FindingKind::slower);
  CHECK(slower.causes.front().id != "garbage-collection");
}

TEST_CASE("diagnosis: two causes at once", "[diagnosis]") {
  const Job job = job_of("llama3.1-70b-1024xh100");
  Job slow = job;
  slow.site.clock *= 0.7;
  const ExpectedRun run = expected_run(slow);
  const double waits = 0.35 * run.step;
  TrainingLog log = steady_log(run.step + waits);
  add_timers(log, run);
  log.clues.sections[LogSection::input] = {waits, waits, 100};
  log.clues.clock_low_mhz = 0.7 * 1980.0;
  log.clues.clock_high_mhz = 0.71 * 1980.0;
  const Diagnosis found = diagnose(log, job);
  REQUIRE(found.explanations.front().causes.size() == 2);
  CHECK(found.cause("slow-clock").likelihood > 0.8);
  CHECK(found.cause("data-loading").likelihood > 0.8);
  CHECK(verdict_of(log, job).find(" together with ") != std::string::npos);
}

TEST_CASE("diagnosis: memory far from its forecast is a finding with hypotheses", "[diagnosis]") {
  const Job job = job_of("llama3-8b-8xh100");
  Job full = job;
  full.memory.recompute.kind = RecomputeKind::full;
  TrainingLog log = steady_log(expected_run(job).step);
  log.memory_kind = "allocated";
  log.memory_max_bytes = expected_run(job).allocated;
  CHECK(diagnose(log, job).as_forecast());
  log.memory_max_bytes = expected_run(full).allocated;
  REQUIRE(*log.memory_max_bytes < 0.85 * expected_run(job).allocated);
  const Diagnosis found = diagnose(log, job);
  REQUIRE(has_finding(found, FindingKind::memory));
  REQUIRE_FALSE(found.memory_causes.empty());
  CHECK(found.memory_causes.front().setting == "memory.recompute=full");
  CHECK(verdict_of(log, job).find("BELOW FORECAST") != std::string::npos);
}

TEST_CASE("diagnosis: a larger sign counts more", "[diagnosis]") {
  SignSeen drift{Sign::drift_up, true, "", 1.0};
  const double small = usual_rate(drift);
  drift.size = 6.3;
  CHECK(usual_rate(drift) < 0.05 * small);
}

TEST_CASE("diagnosis: hosts that lose half of their NICs, played on the fabric", "[diagnosis]") {
  const Job healthy = job_of("llama3-8b-8xh100", four_hosts);
  Job job = healthy;
  for (int host = 0; host < 4; ++host)
    for (int nic = 0; nic < 6; ++nic)
      job.simulation.disturbances.push_back(
          disturbance(DisturbanceKind::node_down, fmt::format("nic{}.{}", host, nic)));
  const StepForecast hurt = step_forecast(played_on_fabric(job));
  const StepForecast well = step_forecast(played_on_fabric(healthy));
  REQUIRE(hurt.time > 1.1 * well.time);
  const ExpectedRun expected = expected_run(healthy);
  TrainingLog log = steady_log(expected.step * (hurt.time / well.time));
  add_timers(log, expected);
  const double sync = hurt.breakdown.data.value();
  log.clues.sections[LogSection::gradients] = {sync, sync, 100};
  const Diagnosis found = diagnose(log, healthy);
  CHECK(is_tied(found, "fewer-nics"));
  CHECK(found.causes.front().likelihood > 0.5);
}

TEST_CASE("diagnosis: a slow host, played on the fabric", "[diagnosis]") {
  const Job healthy = job_of("llama3-8b-8xh100", four_hosts);
  Job job = healthy;
  job.simulation.disturbances.push_back(disturbance(DisturbanceKind::straggler, "2", 0.7));
  const EventRun hurt = played_on_fabric(job);
  const EventRun well = played_on_fabric(healthy);
  const double slower = step_forecast(hurt).time / step_forecast(well).time;
  REQUIRE(slower > 1.2);
  const ExpectedRun expected = expected_run(healthy);
  TrainingLog log = steady_log(expected.step * slower);
  add_timers(log, expected);
  CHECK(diagnose(log, healthy).causes.front().id != "straggler");
  // The replica that the others wait for: what its passes take on the timeline.
  const auto passes = [](const EventRun& run, TaskRole role) {
    double sum = 0.0;
    for (std::size_t id = 0; id < run.graph.tasks.size(); ++id)
      if (run.graph.tasks[id].role == role && run.graph.tasks[id].stream == StreamKind::compute)
        sum += (run.timeline.end[id] - run.timeline.start[id]).value();
    return sum;
  };
  for (const auto& [section, role] : {std::pair{LogSection::forward, TaskRole::forward},
                                      std::pair{LogSection::backward, TaskRole::backward}})
    log.clues.sections[section].most *= passes(hurt, role) / passes(well, role);
  const Diagnosis found = diagnose(log, healthy);
  CHECK(found.causes.front().id == "straggler");
  CHECK(found.tied == 1);
}

TEST_CASE("diagnosis: played faults are found, clean runs are as forecast", "[diagnosis]") {
  const FaultScores scores = score_faults(65, LogDetail::timers, 11);
  CAPTURE(scores_text(scores));
  const FaultScore& all = scores.at("all faults");
  const FaultScore& clean = scores.at("as-forecast");
  CHECK(all.runs == 52);
  CHECK(all.first >= 0.9 * all.runs);
  CHECK(clean.first >= 0.95 * clean.runs);
}

TEST_CASE("diagnosis: patterns are found in lines of steps alone", "[diagnosis]") {
  const Job job = job_of("llama2-70b-256xa100");
  for (const char* const cause : {"checkpoint-stalls", "garbage-collection", "as-forecast"})
    for (const LogDetail detail : {LogDetail::steps, LogDetail::titan}) {
      CAPTURE(cause, static_cast<int>(detail));
      const auto run = play_run(job, cause, detail, 3);
      REQUIRE(run);
      Diagnostics diagnostics;
      TrainingLog log = read_training_log_text(run->log, "run.log", diagnostics);
      REQUIRE(diagnostics.empty());
      REQUIRE(log.step);
      CAPTURE(verdict_of(log, job));
      CHECK(diagnose(log, job).causes.front().id == cause);
    }
}

TEST_CASE("diagnosis: settings that log and scenario state otherwise are told", "[diagnosis]") {
  const Job job = job_of("llama3-8b-8xh100");
  TrainingLog log = steady_log(expected_run(job).step);
  log.plan.tensor = 4;
  log.plan.global_batch = job.training.global_batch;
  log.plan.precision = "fp16";
  const Diagnosis found = diagnose(log, job);
  REQUIRE(found.differences.size() == 2);
  CHECK(found.differences[0].key == "parallel.tensor");
  CHECK(found.differences[0].log == "4");
  CHECK(found.differences[1].key == "training.precision");
  // Nothing of it is compared.
  CHECK(found.findings.empty());
  CHECK(found.causes.empty());
  CHECK_FALSE(found.as_forecast());
  CHECK(verdict_of(log, job).starts_with(
      "THE LOG IS OF ANOTHER RUN: the log has parallel.tensor 4, the scenario 2, and 1 more"));
}

TEST_CASE("diagnosis: replicas of a log without context ranks are those of both", "[diagnosis]") {
  const Job job = job_of("llama3.1-70b-1024xh100");
  REQUIRE(job.parallel.context == 2);
  TrainingLog log = steady_log(expected_run(job).step);
  log.plan.data = job.parallel.data * job.parallel.context;
  CHECK(diagnose(log, job).as_forecast());
  log.plan.context = 2;
  CHECK(diagnose(log, job).differences.size() == 1);
}

TEST_CASE("diagnosis: the forecast follows the batch that a log states", "[diagnosis]") {
  const Job job = job_of("llama3-8b-8xh100");
  for (const int share : {2, 4}) {
    Job half = job;
    half.training.global_batch = job.training.global_batch / share;
    TrainingLog log = steady_log(expected_run(half).step);
    log.plan.global_batch = half.training.global_batch;
    log.plan.micro_batch = half.training.micro_batch;
    const Diagnosis found = diagnose(log, job);
    CHECK(found.differences.empty());
    REQUIRE(found.followed.size() == 1);
    CHECK(found.followed[0].key == "training.global_batch");
    CHECK(found.as_forecast());
    CHECK(found.in_band);
  }
}

TEST_CASE("diagnosis: what is no cause does not lead the causes", "[diagnosis]") {
  const Job job = job_of("llama3.1-70b-1024xh100");
  for (const double ratio : {0.6, 0.8, 1.25, 1.6}) {
    const Diagnosis found = diagnose(steady_log(ratio * expected_run(job).step), job);
    if (found.as_forecast()) continue;
    const std::string& first = found.causes.front().id;
    CHECK(first != as_forecast_id);
    CHECK(first != unexplained_id);
  }
}

TEST_CASE("diagnosis: one record names no cause", "[diagnosis]") {
  const Job job = job_of("llama3.1-70b-1024xh100");
  TrainingLog log = steady_log(0.6 * expected_run(job).step);
  log.series.resize(1);
  log.step->records = 1;
  const std::string verdict = verdict_of(log, job);
  CHECK(verdict.find("1 record cannot identify a cause") != std::string::npos);
  CHECK(verdict.find("likely") == std::string::npos);
  DiagnosisReport report{log, job, "run.yaml", {}, diagnose(log, job)};
  const std::string page = answer_text(diagnosis_answer(report), {});
  CHECK(page.find("% likely") == std::string::npos);
}

TEST_CASE("diagnosis: pauses at equal distances are told with their period", "[diagnosis]") {
  const Job job = job_of("llama3.1-70b-1024xh100");
  const double forecast = expected_run(job).step;
  const TrainingLog log = log_of(
      400, [&](long) { return forecast; }, [](long step) { return step % 50 == 0 ? 175.0 : 0.0; });
  const Diagnosis found = diagnose(log, job);
  REQUIRE(has_finding(found, FindingKind::pauses));
  REQUIRE(found.course.pause_period);
  CHECK(*found.course.pause_period == Approx(50.0));
  CHECK(found.course.usual_pause == Approx(175.0).epsilon(0.01));
  CHECK(verdict_of(log, job).find(
            "a pause of about 175 s every 50 steps; a checkpoint or an evaluation every 50 steps "
            "would explain it") != std::string::npos);
}

TEST_CASE("diagnosis: the page holds no markup of users, and no script", "[diagnosis]") {
  DiagnosisReport report;
  report.job = job_of("llama3-8b-8xh100");
  report.log = steady_log(expected_run(report.job).step);
  report.assumptions = {"<script>alert(1)</script>"};
  report.diagnosis = diagnose(report.log, report.job);
  const std::string page = answer_page(diagnosis_answer(report), "diagnosis");
  CHECK(page.find("<script") == std::string::npos);
  CHECK(page.find("&lt;script&gt;") != std::string::npos);
  CHECK(page.find("<svg") != std::string::npos);
  CHECK(page == answer_page(diagnosis_answer(report), "diagnosis"));
  for (const std::string& line : [&] {
         std::vector<std::string> lines;
         std::string text = answer_text(diagnosis_answer(report));
         for (std::size_t at = 0; at < text.size();) {
           const std::size_t end = text.find('\n', at);
           lines.push_back(text.substr(at, end - at));
           at = end + 1;
         }
         return lines;
       }())
    CHECK(display_width(line) <= 80);
  const auto json = nlohmann::json::parse(diagnosis_json(report));
  CHECK(json["schema"] == "diagnosis/1");
  CHECK(json["as_forecast"] == true);
  CHECK(json["hypotheses"][0]["cause"] == "as-forecast");
  CHECK(json["measured"]["memory_max_bytes"].is_null());
}

TEST_CASE("diagnosis: every hypothesis has words, a test and a prior", "[diagnosis]") {
  double priors = 0.0;
  const auto& all = hypothesis_registry();
  for (const Hypothesis& one : all) {
    if (one.interrupts == nullptr) priors += one.prior;
    CHECK(one.prior > 0.0);
    CHECK_FALSE(one.title.empty());
    CHECK((one.id == as_forecast_id || !one.test.empty()));
    CHECK(std::count_if(all.begin(), all.end(),
                        [&](const Hypothesis& other) { return other.id == one.id; }) == 1);
    for (const SignRate& sign : one.signs) CHECK((sign.rate > 0.0 && sign.rate < 1.0));
  }
  CHECK(priors == Approx(1.0));
  CHECK(all.front().id == as_forecast_id);
  CHECK(all.back().id == unexplained_id);
}

TEST_CASE("diagnosis: the nearer a forecast, the likelier what was measured", "[diagnosis]") {
  const Job job = job_of("llama3.1-70b-1024xh100");
  const ExpectedRun expected = expected_run(job);
  const ForecastError error = forecast_error(expected_band(job));
  MeasuredRun measured;
  double before = 1e9;
  for (const double factor : {1.0, 1.05, 1.2, 1.5, 3.0}) {
    measured.step = factor * expected.step;
    const auto compared = compare_run(measured, expected, error);
    REQUIRE(compared.size() == 1);
    CHECK(compared.front().ln < before);
    before = compared.front().ln;
  }
}

// The figures of calibration/docs/diagnosis.md.
TEST_CASE("diagnosis: 200 runs with faults", "[.][faults]") {
  for (const auto& [name, detail] :
       {std::pair{"timers, clocks and NICs in the log", LogDetail::timers},
        std::pair{"lines of steps alone", LogDetail::steps}})
    std::cout << name << "\n" << scores_text(score_faults(200, detail, 2026)) << "\n";
}

TEST_CASE("diagnosis: 200 runs with faults, five times", "[.][faults]") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const FaultScores scores = score_faults(200, LogDetail::timers, 5000 * seed);
    const FaultScore& all = scores.at("all faults");
    const FaultScore& clean = scores.at("as-forecast");
    std::cout << fmt::format("faults {} of {}, clean {} of {}\n", all.first, all.runs, clean.first,
                             clean.runs);
  }
}
