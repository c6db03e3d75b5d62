// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "models/base/require.hpp"
#include "models/forecast/path_forecast.hpp"
#include "models/forecast/possible_plans.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/run/run_model.hpp"
#include "planner/forecast/power_chart.hpp"
#include "planner/forecast/quick_forecast.hpp"
#include "planner/forecast/report.hpp"
#include "planner/forecast/run_end.hpp"
#include "planner/forecast/smallest_change.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/study/study_of.hpp"
#include "planner/text/format.hpp"
#include "planner/text/quoting.hpp"
#include "sim/lives/run_simulation.hpp"

namespace foretrain {
namespace {

std::string change_sentence(const Change& change, Bytes usable) {
  return fmt::format("{} (peak {} of {}, step {})", set_words(change.settings),
                     bytes_text(change.peak), bytes_text(usable), step_text(change));
}

void fill_remedy(Report& report) {
  Prediction& p = report.prediction;
  if (p.memory && p.memory->may_fit()) report.changes = changes_that_fit(report.scenario);
  const auto memory = std::ranges::find_if(
      p.reasons, [](const auto& reason) { return reason.rule == "out-of-memory"; });
  if (memory == p.reasons.end() || !p.memory) return;
  if (!broken_rules(report.scenario.job).empty()) return;
  report.changes = changes_that_fit(report.scenario);
  memory->remedy =
      report.changes.empty()
          ? std::string(no_change_fits) + "; choose GPUs with more memory or a smaller model"
          : change_sentence(report.changes.front(), p.memory->usable);
}

}  // namespace

std::optional<Job> on_larger_gpus(const Job& job, const Prediction& prediction) {
  const auto& reasons = prediction.reasons;
  const bool only_memory = !reasons.empty() && std::ranges::all_of(reasons, [](const auto& reason) {
    return reason.rule == "out-of-memory";
  });
  if (!only_memory || !prediction.memory) return std::nullopt;
  Job larger = job;
  Device& device = larger.cluster.host.device;
  device.usable_memory = device.memory = 2.0 * prediction.memory->high;
  larger.training.tokens.reset();
  return larger;
}

void add_if_it_fit(const Prediction& larger, Prediction& prediction) {
  if (!larger.step || !larger.efficiency) return;
  prediction.if_it_fit = TimedStep{*larger.step, *larger.efficiency};
  prediction.warnings.insert(prediction.warnings.end(), larger.warnings.begin(),
                             larger.warnings.end());
  prediction.warnings.push_back(
      {"if-it-fit",
       "the plan does not fit: step, MFU and tokens per second are what they would be on GPUs with "
       "enough memory"});
}

Prediction as_if_it_fit(Prediction prediction) {
  if (prediction.step || !prediction.if_it_fit) return prediction;
  prediction.step = prediction.if_it_fit->step;
  prediction.efficiency = prediction.if_it_fit->efficiency;
  return prediction;
}

void warn_of_unknowns(const Job& job, Prediction& prediction) {
  if (!prediction.feasible() && !prediction.step) return;
  const auto warned = [&](std::string_view id) {
    return std::ranges::any_of(prediction.warnings,
                               [&](const Warning& warning) { return warning.id == id; });
  };
  const auto warn = [&](const char* id, const char* message) {
    if (!warned(id)) prediction.warnings.push_back({id, message});
  };
  if (!job.training.tokens)
    warn("unknown-run", "duration and cost of the run: the scenario gives no training.tokens");
  else if (!prediction.run.goodput && !warned("goodput-unknown"))
    warn("unknown-goodput",
         "goodput and expected duration: the scenario gives no "
         "operations.mean_time_between_interruptions, operations.restart and "
         "operations.checkpoint.every");
  if (!prediction.run.p10 && !warned("run-not-simulated"))
    warn("unknown-percentiles",
         "percentiles of the duration: they are drawn once goodput is known");
  if (!prediction.cost.price && !job.operations.price_per_gpu)
    warn("unknown-price", "price of the run: the scenario gives no operations.price or owned");
  if (!prediction.cost.energy)
    warn("unknown-energy", "energy and CO2: the duration of the run is unknown");
  else if (!prediction.cost.co2_kg)
    warn("unknown-co2", "CO2 of the run: the scenario gives no operations.power.carbon");
}

void add_percentiles(const Job& job, Prediction& prediction) {
  RunForecast& run = prediction.run;
  if (!run.expected || !prediction.step) return;
  std::vector<Warning> told_before;
  const StepForecast& step = *prediction.step;
  const RunInputs inputs = run_model(job, step, *run.ideal, told_before);
  FORETRAIN_REQUIRE(inputs.model.has_value());
  RunSpreadOptions options;
  options.seed = job.simulation.seed;
  options.step_low = std::min(1.0, step.low / step.time);
  options.step_high = std::max(1.0, step.high / step.time);
  options.deadline = job.operations.deadline;
  const auto spread = simulate_runs(*inputs.model, options);
  if (!spread) {
    prediction.warnings.push_back(
        {"run-not-simulated",
         fmt::format("percentiles of the duration: a run has more than {} events (interruptions, "
                     "stops, stragglers, repairs), too many to simulate",
                     with_thousands(most_run_events))});
    return;
  }
  run.p10 = spread->p10;
  run.p50 = spread->p50;
  run.p90 = spread->p90;
  run.meets_deadline = spread->meets_deadline;
}

bool outside_calibration(const Warning& warning) {
  return warning.id.starts_with("uncalibrated") || warning.id.starts_with("extrapolated") ||
         warning.id.starts_with("outside-calibration");
}

namespace {

/// Positions of the plans that can run, by the time of their steps.
std::vector<std::size_t> running_plans(const std::vector<PossiblePlan>& plans) {
  std::vector<std::size_t> running;
  for (std::size_t i = 0; i < plans.size(); ++i)
    if (plans[i].step > Seconds{}) running.push_back(i);
  std::ranges::sort(running,
                    [&](std::size_t a, std::size_t b) { return plans[a].step < plans[b].step; });
  return running;
}

/// Ends of what a run costs, over those of both.
void widen(const CostForecast& other, CostForecast& cost) {
  const auto to = [](auto& end, const auto& by, bool down) {
    if (!by || !end) return;
    if (down ? *by < *end : *end < *by) end = by;
  };
  for (const bool down : {true, false}) {
    CostEnd& end = down ? cost.low : cost.high;
    const CostEnd& by = down ? other.low : other.high;
    to(end.gpu_hours, by.gpu_hours, down);
    to(end.price, by.price, down);
    to(end.energy, by.energy, down);
    to(end.co2_kg, by.co2_kg, down);
  }
}

/// The forecast of a plan whose recomputation is unknown: that of the middle one of the plans that
/// it may be and that can run, by time, with a band that reaches over all of these; where none can
/// run, that of the most frugal one.
Report evaluate_unknown(const Scenario& scenario, AttentionFlops convention, EngineKind engine) {
  std::vector<Report> reports;
  std::vector<PossiblePlan> plans;
  for (const Job& job : possible_plans(scenario.job)) {
    Scenario known = scenario;
    known.job = job;
    reports.push_back(evaluate(known, convention, engine));
    const Prediction& p = reports.back().prediction;
    plans.push_back({name_of(job.memory.recompute.kind), p.step ? p.step->time : Seconds{},
                     p.memory ? p.memory->peak : Bytes{}, p.memory && p.memory->fits()});
  }
  const std::vector<std::size_t> running = running_plans(plans);
  Report result = running.empty() ? reports.back() : reports[running[(running.size() - 1) / 2]];
  Prediction& prediction = result.prediction;
  for (const std::size_t i : running) {
    const Prediction& possible = reports[i].prediction;
    prediction.step->low = min(prediction.step->low, possible.step->low);
    prediction.step->high = max(prediction.step->high, possible.step->high);
    prediction.memory->high = max(prediction.memory->high, possible.memory->high);
    widen(possible.cost, prediction.cost);
  }
  if (prediction.memory)
    prediction.warnings.push_back({"recompute-unknown", unknown_recompute_text(plans)});
  return result;
}

}  // namespace

Prediction forecast_job(const Job& job, AttentionFlops convention, EngineKind engine) {
  FORETRAIN_REQUIRE(engine != EngineKind::event);
  FORETRAIN_REQUIRE(job.memory.recompute.kind != RecomputeKind::unknown);
  const auto forecast_of = [&](const Job& plan) {
    return engine == EngineKind::path ? path_forecast(plan, convention)
                                      : closed_form(plan, convention);
  };
  Prediction prediction = forecast_of(job);
  if (const auto larger = on_larger_gpus(job, prediction))
    add_if_it_fit(forecast_of(*larger), prediction);
  return prediction;
}

Report evaluate(const Scenario& scenario, AttentionFlops convention, EngineKind engine,
                const std::atomic<bool>* stop) {
  FORETRAIN_REQUIRE(engine != EngineKind::event);
  if (scenario.work != Work::training) {
    Report report;
    report.scenario = scenario;
    report.study = study_of(scenario, stop);
    report.prediction.reasons = report.study->reasons;
    return report;
  }
  if (scenario.job.memory.recompute.kind == RecomputeKind::unknown)
    return evaluate_unknown(scenario, convention, engine);
  return report_on(scenario, forecast_job(scenario.job, convention, engine));
}

Report report_on(const Scenario& scenario, Prediction prediction, const StepPath* played) {
  Report report{scenario, std::move(prediction), {}, {}, {}};
  fill_remedy(report);
  if (const auto gpus = add_power(scenario.job, played, report.prediction))
    report.power_levers = power_levers(scenario.job, *report.prediction.step, *gpus);
  add_percentiles(scenario.job, report.prediction);
  judge_run_end(scenario.job, report.prediction);
  warn_of_unknowns(scenario.job, report.prediction);
  return report;
}

}  // namespace foretrain
