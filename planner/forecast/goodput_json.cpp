// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/run_part.hpp"
#include "planner/forecast/goodput_study.hpp"
#include "planner/forecast/internal/prediction_tree.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

Json split_tree(const RunSplit& split) {
  Json result = Json::object();
  for (const RunPart& part : run_parts())
    result[std::string(part.key)] = number_or_null((split.*part.time).value());
  return result;
}

Json spread_tree(const RunSpread& spread) {
  return {{"trials", spread.trials},
          {"mean_s", number_or_null(spread.mean.value())},
          {"p10_s", number_or_null(spread.p10.value())},
          {"p50_s", number_or_null(spread.p50.value())},
          {"p90_s", number_or_null(spread.p90.value())},
          {"goodput_p10", number_or_null(spread.goodput_p10)},
          {"goodput_p90", number_or_null(spread.goodput_p90)},
          {"interruptions", number_or_null(spread.interruptions)},
          {"checkpoints", number_or_null(spread.checkpoints)},
          {"meets_deadline", number_or_null(spread.meets_deadline)},
          {"split", split_tree(spread.split)}};
}

Json intervals_tree(const std::vector<IntervalRow>& rows) {
  Json result = Json::array();
  for (const IntervalRow& row : rows)
    result.push_back({{"name", row.name},
                      {"every_s", number_or_null(row.every.value())},
                      {"goodput", number_or_null(row.closed_form)},
                      {"goodput_simulated", number_or_null(row.simulated)}});
  return result;
}

Json states_tree(const std::vector<DegradedState>& states) {
  Json result = Json::array();
  for (const DegradedState& state : states)
    result.push_back({{"name", state.name},
                      {"out", state.out},
                      {"step_s", number_or_null(state.step.value())},
                      {"pace", number_or_null(state.pace)}});
  return result;
}

Json life_tree(const RunTrial& life) {
  Json stops = Json::array();
  for (const RunStop& stop : life.stops)
    stops.push_back({{"kind", name_of(stop.kind)},
                     {"from_s", number_or_null(stop.from.value())},
                     {"to_s", number_or_null(stop.to.value())},
                     {"lost_s", number_or_null(stop.lost.value())},
                     {"interruptions", stop.interruptions}});
  Json slow = Json::array();
  for (const SlowSpell& spell : life.slow)
    slow.push_back({{"from_s", number_or_null(spell.from.value())},
                    {"to_s", number_or_null(spell.to.value())}});
  return {{"duration_s", number_or_null(life.split.total().value())},
          {"checkpoints", number_or_null(life.checkpoints)},
          {"split", split_tree(life.split)},
          {"stops", std::move(stops)},
          {"slow", std::move(slow)}};
}

}  // namespace

std::string goodput_json(const GoodputStudy& study) {
  const Json prediction = known_tree(study.report);
  Json tree{{"schema", "goodput/1"},
            {"foretrain_version", version},
            {"name", study.report.scenario.job.name},
            {"feasible", study.report.prediction.feasible()},
            {"missing", study.missing},
            {"mfu", prediction.at("mfu")},
            {"run", prediction.at("run")},
            {"cost", prediction.at("cost")}};
  const bool known = study.model.has_value();
  const std::string why = why_not_simulated(study);
  tree["not_simulated"] = why.empty() ? Json(nullptr) : Json(why);
  tree["stopped"] = study.stopped;
  tree["simulated"] = known ? spread_tree(study.spread) : Json(nullptr);
  tree["simulated_step_as_forecast"] =
      known && study.steady ? spread_tree(*study.steady) : Json(nullptr);
  tree["intervals"] = intervals_tree(study.intervals);
  tree["states"] = states_tree(study.states);
  tree["life"] = known ? life_tree(study.life) : Json(nullptr);
  tree["warnings"] = prediction.at("warnings");
  return dump(tree);
}

}  // namespace foretrain
