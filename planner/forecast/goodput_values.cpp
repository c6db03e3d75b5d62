// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/run_part.hpp"
#include "planner/answer/value_json.hpp"
#include "planner/forecast/goodput_study.hpp"
#include "planner/forecast/report_json.hpp"

namespace foretrain {
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
