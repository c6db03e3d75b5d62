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
        .add("trials", &RunSpread::trials, "Simulated runs.")
        .add("mean_s", &RunSpread::mean, "Duration, mean of the runs.")
        .add("p10_s", &RunSpread::p10, "Duration, tenth percentile.")
        .add("p50_s", &RunSpread::p50, "Duration, median.")
        .add("p90_s", &RunSpread::p90, "Duration, ninetieth percentile.")
        .add("goodput_p10", &RunSpread::goodput_p10, "Goodput, tenth percentile.")
        .as(Measure::share)
        .add("goodput_p90", &RunSpread::goodput_p90, "Goodput, ninetieth percentile.")
        .as(Measure::share)
        .add("interruptions", &RunSpread::interruptions, "Interruptions of a run, mean.")
        .add("checkpoints", &RunSpread::checkpoints, "Checkpoints of a run, mean.")
        .add("meets_deadline", &RunSpread::meets_deadline,
             "Share of the runs that meet the deadline.")
        .as(Measure::share)
        .add("split", &RunSpread::split, split_values,
             "Parts of a run, mean; they sum to its duration.");

const ValueTable<RunStop> stop_values =
    ValueTable<RunStop>{}
        .add("kind", &RunStop::kind, "What began it.")
        .add("from_s", &RunStop::from)
        .add("to_s", &RunStop::to)
        .add("lost_s", &RunStop::lost, "Steps that are done again, as time at full speed.")
        .add("interruptions", &RunStop::interruptions,
             "That struck, those during recovery included.");

const ValueTable<SlowSpell> slow_values =
    ValueTable<SlowSpell>{}.add("from_s", &SlowSpell::from).add("to_s", &SlowSpell::to);

const ValueTable<RunTrial> life_values =
    ValueTable<RunTrial>{}
        .add("duration_s", [](const RunTrial& life) { return life.split.total(); })
        .add("checkpoints", &RunTrial::checkpoints)
        .add("split", &RunTrial::split, split_values, "Parts of the run; they sum to its duration.")
        .add("stops", &RunTrial::stops, stop_values, "Times without steps.")
        .add("slow", &RunTrial::slow, slow_values, "Times with a slow member.");

/// What was simulated; null where nothing was.
template <class Part>
auto if_simulated(Part GoodputStudy::*part) {
  return [part](const GoodputStudy& study) { return study.model ? &(study.*part) : nullptr; };
}

ValueTable<GoodputStudy> make_goodput_table() {
  using R = GoodputStudy;
  const auto prediction = [](const R& study) -> const Prediction& {
    return study.report.prediction;
  };
  const ValueRows& forecast = quantities().table();
  return ValueTable<R>{"goodput/1", "foretrain goodput --json, schema goodput/1; null is unknown"}
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
      .add("states", &R::states, state_values(), "Steps with parts of the machine out, as played.")
      .add("life", if_simulated(&R::life), life_values, "One simulated run.")
      .add_from(forecast, "warnings", prediction);
}

const ValueTable<GoodputStudy>& goodput_table() {
  static const auto table = make_goodput_table();
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
          .add("goodput", &R::closed_form, "In closed form.")
          .shown("goodput", Measure::share)
          .add("goodput_simulated", &R::simulated, "Mean of simulated runs, step time as forecast.")
          .shown("simulated", Measure::share);
  return table;
}

const ValueTable<DegradedState>& state_values() {
  using R = DegradedState;
  static const auto table =
      ValueTable<R>{}
          .add("name", &R::name)
          .shown("state")
          .add("out", &R::out, "Parts that are out.")
          .add("step_s", &R::step, "Step time in this state.")
          .shown("step")
          .add("pace", &R::pace, "Step time of the whole machine over this one.")
          .shown("pace", Measure::share);
  return table;
}

std::string goodput_json(const GoodputStudy& study) { return json_text(goodput_table(), study); }

const ValueRows& goodput_document() { return goodput_table().rows(); }

}  // namespace foretrain
