// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/goodput_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/base/require.hpp"
#include "models/run/run_model.hpp"
#include "planner/forecast/run_end.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

constexpr double most_rows = 60.0;

RunSpreadOptions spread_options(const Job& job, const StepForecast& step,
                                const GoodputOptions& options) {
  RunSpreadOptions result;
  result.trials = options.trials;
  result.threads = options.threads;
  result.seed = options.seed.value_or(job.simulation.seed);
  result.step_low = std::min(1.0, step.low / step.time);
  result.step_high = std::max(1.0, step.high / step.time);
  result.deadline = job.operations.deadline;
  result.stop = options.stop;
  return result;
}

/// Intervals that are worth a look, those from the literature only where they apply.
std::vector<std::pair<std::string, Seconds>> candidates(const RunModel& model, Seconds step) {
  const Seconds best = best_interval(model, max(model.lag, step));
  std::vector<std::pair<std::string, Seconds>> intervals{{"as given", model.every},
                                                         {"best", best},
                                                         {"best / 2", best / 2.0},
                                                         {"best x 2", best * 2.0}};
  if (model.between > Seconds{} && model.stall > Seconds{}) {
    intervals.emplace_back("Young 1974", young_interval(model.stall, model.between));
    intervals.emplace_back("Daly 2006", daly_interval(model.stall, model.between));
  }
  return intervals;
}

/// Those that could be simulated before `options.stop`; none with fewer trials than the others.
std::vector<IntervalRow> intervals_of(const RunModel& model, Seconds step,
                                      const RunSpreadOptions& options) {
  std::vector<IntervalRow> rows;
  for (auto& [name, every] : candidates(model, step)) {
    RunModel varied = model;
    varied.every = max(every, model.lag);
    const auto spread = simulate_runs(varied, options);
    if (!spread || spread->trials < options.trials) continue;
    rows.push_back({std::move(name), varied.every, model.ideal / expect_run(varied).total(),
                    spread->split.steps / spread->mean});
  }
  return rows;
}

/// Leaves study.model absent where that takes too many events, or where there was no time.
void simulate(RunModel model, Seconds step, RunSpreadOptions options, GoodputStudy& study) {
  const auto spread = simulate_runs(model, options);
  options.step_low = 1.0;
  options.step_high = 1.0;
  if (spread) {
    study.spread = *spread;
    study.steady = simulate_runs(model, options);
    study.life = simulate_run(model, options.seed, true);
    study.intervals = intervals_of(model, step, options);
  }
  study.stopped = options.stop != nullptr && options.stop->load();
  const bool known = spread && study.life.complete && (study.steady || study.stopped);
  if (known) study.model = std::move(model);
}

/// The study draws more runs than the forecast that it starts from: one answer has one spread.
void take_spread(const RunSpread& spread, RunForecast& run) {
  run.p10 = spread.p10;
  run.p50 = spread.p50;
  run.p90 = spread.p90;
  run.meets_deadline = spread.meets_deadline;
}

}  // namespace

GoodputStudy study_goodput(const Scenario& scenario, const GoodputOptions& options) {
  return study_goodput(evaluate(scenario, AttentionFlops::full, options.engine), options);
}

GoodputStudy study_goodput(Report report, const GoodputOptions& options) {
  FORETRAIN_REQUIRE(options.trials >= 1);
  GoodputStudy study;
  study.report = std::move(report);
  study.stopped = options.stop != nullptr && options.stop->load();
  const Prediction& p = study.report.prediction;
  const Job& job = study.report.scenario.job;
  if (!p.step || !p.run.ideal) return study;
  std::vector<Warning> told_before;
  RunInputs inputs = run_model(job, *p.step, *p.run.ideal, told_before);
  study.missing = std::move(inputs.missing);
  if (!p.run.expected) return study;
  simulate(std::move(*inputs.model), p.step->time, spread_options(job, *p.step, options), study);
  if (!study.model) return study;
  take_spread(study.spread, study.report.prediction.run);
  judge_run_end(job, study.report.prediction);
  return study;
}

std::string why_not_simulated(const GoodputStudy& study) {
  if (study.model || !study.report.prediction.run.expected) return "";
  if (study.stopped) return "stopped before a simulated run had ended";
  return fmt::format(
      "not simulated: a run has more than {} events (interruptions, stops, stragglers, repairs); "
      "the closed form holds, and foretrain simulate shows all of it",
      with_thousands(most_run_events));
}

std::vector<LifeRow> life_rows(const RunTrial& life) {
  const Seconds total = life.split.total();
  const Seconds week = 7.0 * days;
  const Seconds length = week * std::ceil(std::max(1.0, total / week / most_rows));
  std::vector<LifeRow> rows;
  for (Seconds from; from < total; from += length)
    rows.push_back({from, min(from + length, total), Seconds{}, Seconds{}, 0});
  for (const RunStop& stop : life.stops) {
    for (LifeRow& row : rows) {
      row.down += max(Seconds{}, min(stop.to, row.to) - max(stop.from, row.from));
      if (stop.from < row.from || stop.from >= row.to) continue;
      row.lost += stop.lost;
      if (stop.kind == StopKind::interruption || stop.kind == StopKind::preemption)
        row.interruptions += stop.interruptions;
    }
  }
  return rows;
}

}  // namespace foretrain
