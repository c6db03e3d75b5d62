// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "models/base/too_large.hpp"
#include "models/forecast/closed_form.hpp"
#include "models/forecast/path_forecast.hpp"
#include "planner/forecast/power_chart.hpp"
#include "planner/forecast/report.hpp"
#include "planner/forecast/run_end.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/network/fabric_text.hpp"
#include "planner/step/event_report.hpp"
#include "planner/study/study_of.hpp"
#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"
#include "scenarios/yaml/sha256.hpp"
#include "sim/flows/plug_in_file.hpp"
#include "sim/step/event_forecast.hpp"

namespace foretrain {
namespace {

/// Several texts as one, in the order given.
template <class Items, class Text>
std::string joined(const Items& items, Text text) {
  std::string result;
  for (const auto& item : items) result += (result.empty() ? "" : "; ") + text(item);
  return result;
}

/// A fabric that cannot be built is one more way in which a point cannot run.
Prediction predict_on_fabric(const Job& job, bool power) {
  const auto fabric = fabric_for(job);
  if (const auto* built = std::get_if<Fabric>(&fabric)) {
    EventForecast played = event_forecast(job, *built, AttentionFlops::full);
    if (power && played.run) {
      const StepPath path = played_path(*played.run);
      (void)add_power(job, &path, played.prediction);
    }
    return std::move(played.prediction);
  }
  Prediction prediction;
  prediction.engine = EngineKind::event;
  prediction.reasons.push_back(std::get<Infeasible>(fabric));
  return prediction;
}

Prediction predict(const Job& job, EngineKind engine, bool power) {
  if (engine == EngineKind::event) return predict_on_fabric(job, power);
  Prediction prediction = engine == EngineKind::path ? path_forecast(job, AttentionFlops::full)
                                                     : closed_form(job, AttentionFlops::full);
  if (power) (void)add_power(job, nullptr, prediction);
  return prediction;
}

/// Power over time is computed where it is asked for alone: it takes the task graph of a step.
bool asks_power(const std::vector<std::string>& metrics) {
  return std::ranges::any_of(metrics,
                             [](const std::string& path) { return path.starts_with("power."); });
}

std::string axes_json(const SweepGrid& grid) {
  Json axes = Json::array();
  for (const SweepAxis& axis : grid.axes)
    axes.push_back({{"keys", axis.keys}, {"values", axis.values}});
  return axes.dump(-1, ' ', false, Json::error_handler_t::replace);
}

SweepHeader header_of(const SweepQuestion& question, std::int64_t size, ScenarioFamily& family) {
  const std::string scenario = family.family_identity();
  SweepHeader header{
      {"schema", "sweep/1"},
      {"foretrain_version", version},
      {"program", question.program},
      {"scenario", scenario},
      {"engine", std::string(family.work() == Work::training ? name_of(question.engine)
                                                             : name_of(family.work()))},
      {"axes", axes_json(question.grid)},
      {"metrics", Json(question.metrics).dump()},
      {"points", std::to_string(size)}};
  std::string all;
  for (const auto& [name, value] : header) all.append(name).append("=").append(value).append("\n");
  header.emplace_back("identity", sha256_hex(all));
  return header;
}

/// What is kept of each point, settled in the question.
SweepMetrics metrics_of(SweepQuestion& question, Work work) {
  if (question.metrics.empty()) question.metrics = default_metrics(work);
  return work == Work::training ? SweepMetrics(question.metrics)
                                : SweepMetrics(question.metrics, work);
}

/// Points are ranked: one that is not forecast to fit wins nothing, though it may run.
void refuse_what_may_not_fit(const Prediction& prediction, SweepRow& row) {
  if (!prediction.memory || !prediction.memory->may_fit()) return;
  row.status = PointStatus::infeasible;
  row.rule = "may-not-fit";
  row.reason = memory_verdict(*prediction.memory);
}

void refuse(const std::vector<Infeasible>& reasons, SweepRow& row) {
  if (reasons.empty()) return;
  row.status = PointStatus::infeasible;
  row.rule = joined(reasons, [](const Infeasible& reason) { return reason.rule; });
  row.reason = joined(reasons, [](const Infeasible& reason) { return reason.message; });
}

}  // namespace

Sweep::Sweep(SweepQuestion question)
    : question_(std::move(question)),
      size_(question_.grid.size()),
      family_(question_.base, question_.grid.family_keys()),
      metrics_(metrics_of(question_, family_.work())) {
  if (family_.work() != Work::training && question_.engine != EngineKind::closed_form)
    throw UsageError(fmt::format("--engine is for training; {} has one of its own: leave it out",
                                 name_of(family_.work())));
  if (question_.engine == EngineKind::event && plug_in_file("foretrain_simgrid.so").empty())
    throw UsageError(
        "--engine event plays on SimGrid, and this foretrain has no foretrain_simgrid.so; "
        "closed-form and path need none");
  header_ = header_of(question_, size_, family_);
}

std::vector<std::string> Sweep::values_of(std::int64_t point) const {
  std::vector<std::size_t> chosen;
  question_.grid.choose(point, chosen);
  std::vector<std::string> values;
  for (const SweepAxis& axis : question_.grid.axes)
    for (std::size_t key = 0; key < axis.keys.size(); ++key)
      values.push_back(axis.values[chosen[values.size()]][key]);
  return values;
}

SweepRow Sweep::forecast(std::int64_t point) {
  question_.grid.choose(point, chosen_);
  const FamilyMember& member = family_.resolve(chosen_);
  SweepRow row;
  row.point = point;
  row.hash = sha256_hex(question_.program + "\n" + std::string(name_of(question_.engine)) + "\n" +
                        member.identity);
  row.metrics.resize(question_.metrics.size());
  if (!member.errors.empty()) {
    row.status = PointStatus::invalid;
    row.reason = joined(member.errors, [](const std::string& error) { return error; });
    return row;
  }
  if (family_.work() != Work::training) {
    forecast_study(row);
    return row;
  }
  Prediction prediction = predict(family_.job(), question_.engine, asks_power(question_.metrics));
  if (family_.job().operations.deadline) add_percentiles(family_.job(), prediction);
  judge_run_end(family_.job(), prediction);
  row.metrics = metrics_.of(prediction);
  refuse_what_may_not_fit(prediction, row);
  refuse(prediction.reasons, row);
  return row;
}

/// Read anew: what such a forecast takes is far longer.
Scenario Sweep::scenario_at(std::int64_t point) const {
  LoadOptions options = question_.base.options;
  const std::vector<std::string> keys = question_.grid.keys();
  const std::vector<std::string> values = values_of(point);
  for (std::size_t i = 0; i < keys.size(); ++i)
    options.overrides.push_back(keys[i] + "=" + values[i]);
  return load_scenario_text(question_.base.text, question_.base.name, question_.base.folder,
                            options);
}

void Sweep::forecast_study(SweepRow& row) const {
  try {
    const Study study = study_of(scenario_at(row.point));
    row.metrics = metrics_.of(study);
    refuse(study.reasons, row);
  } catch (const ScenarioError& error) {
    row.status = PointStatus::invalid;
    row.reason = error.diagnostics().front().message;
  } catch (const TooLarge& error) {
    row.status = PointStatus::infeasible;
    row.rule = "too-large";
    row.reason = error.what();
  }
}

}  // namespace foretrain
