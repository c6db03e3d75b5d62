// SPDX-License-Identifier: Apache-2.0

#include "planner/forecast/goodput_study.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <utility>

#include "models/base/require.hpp"
#include "models/run/run_model.hpp"
#include "planner/answer/prediction_parts.hpp"
#include "planner/answer/value_json.hpp"
#include "planner/forecast/report_json.hpp"
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

namespace {

const ValueTable<RunSplit> split_values = [] {
  ValueTable<RunSplit> rows;
  for (const RunPart& part : run_parts())
    rows.add(std::string(part.key), part.time, part.meaning).as(Measure::duration);
  return rows;
}();

const ValueTable<RunSpread> spread_values =
    ValueTable<RunSpread>{}
        .add("trials", &RunSpread::trials, "Number of simulated runs.")
        .add("mean_s", &RunSpread::mean, "Mean duration.")
        .add("p10_s", &RunSpread::p10, "10th percentile of the duration.")
        .add("p50_s", &RunSpread::p50, "Median duration.")
        .add("p90_s", &RunSpread::p90, "90th percentile of the duration.")
        .add("goodput_p10", &RunSpread::goodput_p10, "10th percentile of goodput.")
        .as(Measure::share)
        .add("goodput_p90", &RunSpread::goodput_p90, "90th percentile of goodput.")
        .as(Measure::share)
        .add("interruptions", &RunSpread::interruptions, "Mean number of interruptions of a run.")
        .add("checkpoints", &RunSpread::checkpoints, "Mean number of checkpoints of a run.")
        .add("meets_deadline", &RunSpread::meets_deadline,
             "Share of the runs that meet the deadline.")
        .as(Measure::share)
        .add("split", &RunSpread::split, split_values, "Mean time by part; sums to the duration.");

const ValueTable<RunStop> stop_values =
    ValueTable<RunStop>{}
        .add("kind", &RunStop::kind, "What the stop began with.")
        .add("from_s", &RunStop::from)
        .add("to_s", &RunStop::to)
        .add("lost_s", &RunStop::lost, "Lost work, as time at full speed.")
        .add("interruptions", &RunStop::interruptions,
             "Interruptions, those during recovery included.");

const ValueTable<SlowSpell> slow_values =
    ValueTable<SlowSpell>{}.add("from_s", &SlowSpell::from).add("to_s", &SlowSpell::to);

const ValueTable<RunTrial> life_values =
    ValueTable<RunTrial>{}
        .add("duration_s", [](const RunTrial& life) { return life.split.total(); })
        .add("checkpoints", &RunTrial::checkpoints)
        .add("split", &RunTrial::split, split_values, "Time by part; sums to the duration.")
        .add("stops", &RunTrial::stops, stop_values, "Times without steps.")
        .add("slow", &RunTrial::slow, slow_values, "Times with a straggler.");

/// What was simulated; null where nothing was.
template <class Part>
auto if_simulated(Part GoodputStudy::*part) {
  return [part](const GoodputStudy& study) { return study.model ? &(study.*part) : nullptr; };
}

const ValueTable<GoodputStudy>& goodput_table() {
  using R = GoodputStudy;
  const auto prediction = [](const R& study) -> const Prediction& {
    return study.report.prediction;
  };
  const ValueRows& forecast = quantities().table();
  static const auto table =
      ValueTable<R>{"goodput/1", "foretrain goodput --json, schema goodput/1; null is unknown"}
          .add("name", [](const R& study) { return study.report.scenario.job.name; })
          .add_from(forecast, "feasible", prediction)
          .add("missing", &R::missing, "Keys without which goodput stays unknown.")
          .add_from(forecast, "mfu", prediction)
          .add_from(forecast, "run", prediction)
          .add_from(forecast, "cost", prediction)
          .add(
              "not_simulated",
              [](const R& study) {
                const std::string why = why_not_simulated(study);
                return why.empty() ? std::nullopt : std::optional(why);
              },
              "Why goodput is known in closed form, but not simulated; null where it is.")
          .add("stopped", &R::stopped, "Interrupted: fewer simulated runs, or none.")
          .add("simulated", if_simulated(&R::spread), spread_values,
               "Simulated runs, each with a step time drawn from its band.")
          .add(
              "simulated_step_as_forecast",
              [](const R& study) { return study.model && study.steady ? &*study.steady : nullptr; },
              spread_values, "Simulated runs with the step time as forecast.")
          .add("intervals", &R::intervals, interval_values(), "Other times between checkpoints.")
          .add("states", &R::states, state_values(), "Step times with failed parts, as simulated.")
          .add("life", if_simulated(&R::life), life_values, "One simulated run.")
          .add_from(forecast, "warnings", prediction);
  return table;
}

}  // namespace

const ValueTable<IntervalRow>& interval_values() {
  using R = IntervalRow;
  static const auto table =
      ValueTable<R>{}
          .add("name", &R::name)
          .shown("checkpoint every")
          .add("every_s", &R::every, "Training time between two checkpoints.")
          .shown("", Measure::duration)
          .add("goodput", &R::closed_form, "Goodput in closed form.")
          .shown("goodput", Measure::share)
          .add("goodput_simulated", &R::simulated,
               "Mean goodput of simulated runs with the step time as forecast.")
          .shown("simulated", Measure::share);
  return table;
}

const ValueTable<DegradedState>& state_values() {
  using R = DegradedState;
  static const auto table =
      ValueTable<R>{}
          .add("name", &R::name)
          .shown("state")
          .add("out", &R::out, "Number of failed parts.")
          .add("step_s", &R::step, "Step time in this state.")
          .shown("step")
          .add("pace", &R::pace, "Step time with all parts over step time in this state.")
          .shown("pace", Measure::share);
  return table;
}

std::string goodput_json(const GoodputStudy& study) { return json_text(goodput_table(), study); }

const ValueRows& goodput_document() { return goodput_table().rows(); }

}  // namespace foretrain
