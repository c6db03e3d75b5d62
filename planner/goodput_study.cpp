// SPDX-License-Identifier: Apache-2.0
#include "planner/goodput_study.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/require.hpp"
#include "models/run_model.hpp"

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
  return result;
}

IntervalRow interval_row(std::string name, const RunModel& model, Seconds every,
                         const RunSpreadOptions& options) {
  RunModel varied = model;
  varied.every = max(every, model.lag);
  return {std::move(name), varied.every, model.ideal / expect_run(varied).total(),
          model.ideal / simulate_runs(varied, options).mean};
}

std::vector<IntervalRow> intervals_of(const RunModel& model, Seconds step,
                                      const RunSpreadOptions& options) {
  const Seconds best = best_interval(model, max(model.lag, step));
  std::vector<IntervalRow> rows{interval_row("as given", model, model.every, options),
                                interval_row("best", model, best, options),
                                interval_row("best / 2", model, best / 2.0, options),
                                interval_row("best x 2", model, best * 2.0, options)};
  if (model.between > Seconds{} && model.stall > Seconds{}) {
    rows.push_back(
        interval_row("Young 1974", model, young_interval(model.stall, model.between), options));
    rows.push_back(
        interval_row("Daly 2006", model, daly_interval(model.stall, model.between), options));
  }
  return rows;
}

}  // namespace

GoodputStudy study_goodput(const Scenario& scenario, const GoodputOptions& options) {
  FORETRAIN_REQUIRE(options.trials >= 1);
  GoodputStudy study;
  study.report = evaluate(scenario, AttentionFlops::full, options.engine);
  const Prediction& p = study.report.prediction;
  if (!p.feasible() || !p.step || !p.run.ideal) return study;
  std::vector<Warning> told_before;
  RunInputs inputs = run_model(scenario.job, *p.step, *p.run.ideal, told_before);
  study.missing = std::move(inputs.missing);
  if (!p.run.expected) return study;
  RunSpreadOptions spread = spread_options(scenario.job, *p.step, options);
  study.spread = simulate_runs(*inputs.model, spread);
  spread.step_low = 1.0;
  spread.step_high = 1.0;
  study.steady = simulate_runs(*inputs.model, spread);
  study.life = simulate_run(*inputs.model, spread.seed, true);
  study.intervals = intervals_of(*inputs.model, p.step->time, spread);
  study.model = std::move(inputs.model);
  return study;
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
