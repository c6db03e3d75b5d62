// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "planner/search/plan_report.hpp"
#include "planner/step/event_report.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

constexpr std::size_t spare_candidates = 4;  ///< forecasts by path per plan that is asked for

std::string recompute_name(const SearchSpace& space, std::int64_t index) {
  return space.recompute[static_cast<std::size_t>(index) % space.recompute.size()].name;
}

ForecastPlan forecast_plan(const Scenario& scenario, const SearchSpace& space,
                           const ScoredPlan& scored, EngineKind engine) {
  Scenario changed = scenario;
  changed.job = job_at(scenario.job, space, scored.index);
  return {scored, recompute_name(space, scored.index),
          settings_at(scenario.job, space, scored.index),
          evaluate(changed, AttentionFlops::full, engine)};
}

/// Of somebody who has told a search to stop, and waits for what it has found.
class Patience {
 public:
  explicit Patience(const std::atomic<bool>* stop) : stop_{stop} {}

  [[nodiscard]] bool is_over() {
    if (stop_ == nullptr || !stop_->load()) return false;
    if (end_ == Clock::time_point::max()) end_ = Clock::now() + std::chrono::milliseconds{400};
    return Clock::now() >= end_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  const std::atomic<bool>* stop_;
  Clock::time_point end_ = Clock::time_point::max();
};

/// What a forecast says against a plan, by the same rules as the search.
std::optional<Excess> excess_of(const ForecastPlan& plan, const SearchLimits& limits) {
  const Job& job = plan.report.scenario.job;
  const Prediction& forecast = plan.report.prediction;
  for (const Infeasible& reason : forecast.reasons)
    return Excess{reason.rule, std::numeric_limits<double>::infinity(), reason.message};
  if (forecast.memory)
    if (auto excess = memory_excess(limits, job.cluster.host.device, forecast.memory->need()))
      return excess;
  return run_excess(limits, job, forecast);
}

/// A plan that has all that a finalist needs.
std::optional<Finalist> finalist_of(ForecastPlan plan, const SearchLimits& limits) {
  const Prediction& forecast = plan.report.prediction;
  if (!forecast.step || !forecast.efficiency || excess_of(plan, limits)) return std::nullopt;
  const StepForecast step = *forecast.step;
  const Efficiency efficiency = *forecast.efficiency;
  return Finalist{std::move(plan), step, efficiency};
}

/// The order of SearchOptions::by with the finalists' own step times.
void rank(std::vector<Finalist>& plans, RankBy by) {
  const auto key = [by](const Finalist& plan) {
    return std::tuple{plan_key(plan.report.scenario.job, by, plan.step.time),
                      plan.scored.peak.value(), plan.scored.index};
  };
  std::ranges::sort(plans, [&](const Finalist& a, const Finalist& b) { return key(a) < key(b); });
}

/// The best of the search that keep their limits by the longest path, too. Where none does, the
/// first of them is the nearest plan.
void add_finalists(std::size_t top, Patience& patience, PlanReport& report) {
  std::vector<ScoredPlan> kept;
  std::optional<ForecastPlan> beyond;
  for (const ScoredPlan& scored : report.result.best) {
    if (report.plans.size() == top) break;
    if ((!report.plans.empty() || beyond) && patience.is_over()) break;
    ForecastPlan plan = forecast_plan(report.scenario, report.space, scored, EngineKind::path);
    if (auto runs = finalist_of(plan, report.options.limits)) {
      report.plans.push_back(std::move(*runs));
      kept.push_back(scored);
      continue;
    }
    ++report.left_out;
    if (!beyond) beyond = std::move(plan);
  }
  report.result.best = std::move(kept);
  if (!report.plans.empty() || !beyond) return;
  if (auto excess = excess_of(*beyond, report.options.limits))
    report.result.nearest = NearPlan{beyond->scored, std::move(*excess)};
  report.nearest = std::move(beyond);
}

/// The first `count` played on their fabrics, where flows meet, and ordered by that. A plan that
/// the fabric cannot run at all keeps its forecast by path and comes behind them; one that breaks a
/// limit there goes.
void play(std::size_t count, PlanReport& report) {
  std::vector<Finalist> plans = std::move(report.plans);
  std::vector<Finalist> rest;
  report.plans.clear();
  for (std::size_t i = 0; i < plans.size(); ++i) {
    Finalist& plan = plans[i];
    if (i >= count) {
      rest.push_back(std::move(plan));
      continue;
    }
    Report played = evaluate_event(plan.report.scenario, AttentionFlops::full).report;
    if (!played.prediction.step) {
      rest.push_back(std::move(plan));
      continue;
    }
    plan.report = std::move(played);
    if (auto runs = finalist_of(std::move(plan), report.options.limits))
      report.plans.push_back(std::move(*runs));
    else
      ++report.left_out;
  }
  rank(report.plans, report.options.by);
  std::move(rest.begin(), rest.end(), std::back_inserter(report.plans));
}

/// The forecast of a plan that is asked about; where it can run, the search counts what is before
/// it.
Standing standing_of(const PlanQuestion& question, SearchOptions& options) {
  const Scenario& scenario = question.scenario;
  Standing standing{question.settings,
                    evaluate(scenario, AttentionFlops::full, EngineKind::path),
                    std::nullopt,
                    {}};
  if (!standing.report.prediction.step) return standing;
  const ScoredPlan scored = score(scenario.job);
  standing.closed_form = scored.step;
  const SearchLimits& limits = options.limits;
  if (!memory_excess(limits, scenario.job.cluster.host.device, scored.need()) &&
      !run_excess(limits, scenario.job, scored.step))
    options.reference = plan_key(scenario.job, options.by, scored.step);
  return standing;
}

/// A group of keys, or a value, as a YAML mapping has them.
struct Node {
  std::string name;
  std::string value;
  std::vector<Node> children;

  Node& child(const std::string& key) {
    for (Node& known : children)
      if (known.name == key) return known;
    children.push_back({key, {}, {}});
    return children.back();
  }
};

void insert(Node& root, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  const std::string key = setting.substr(0, equals);
  if (equals == std::string::npos || key.find('[') != std::string::npos)
    throw UsageError("a scenario file cannot repeat --set " + setting +
                     "; write it into the scenario first");
  Node* node = &root;
  for (std::size_t from = 0; from <= key.size();) {
    const std::size_t dot = std::min(key.find('.', from), key.size());
    node = &node->child(key.substr(from, dot - from));
    // What comes later holds, be it a value for a group or a group for a value.
    node->value.clear();
    from = dot + 1;
  }
  node->children.clear();
  node->value = setting.substr(equals + 1);
}

void write(const Node& node, const std::string& indentation, std::string& text) {
  for (const Node& child : node.children) {
    text += indentation + child.name + ":" + (child.value.empty() ? "" : " " + child.value) + "\n";
    write(child, indentation + "  ", text);
  }
}

}  // namespace

PlanReport plan(const Scenario& asked, const SearchSpace& space, const SearchOptions& options,
                const std::optional<PlanQuestion>& question) {
  PlanReport report{asked, space, options, {}, {}, {}, 0, {}, {}};
  Scenario& scenario = report.scenario;
  // Forecasts of the finalists judge the limit by the band of their runs.
  if (options.limits.max_run) scenario.job.operations.deadline = options.limits.max_run;
  if (question) report.standing = standing_of(*question, report.options);
  SearchOptions wide = report.options;
  // Some may break a limit by the longest path that they keep in closed form.
  if (wide.limits.judge_time() || scenario.job.operations.deadline) wide.top *= spare_candidates;
  report.result = search(scenario.job, space, wide);
  if (report.standing && report.options.reference) report.standing->rank = report.result.better + 1;
  Patience patience{options.stop};
  add_finalists(options.top, patience, report);
  rank(report.plans, options.by);
  if (options.on_fabric > 0 && !patience.is_over()) play(options.on_fabric, report);
  if (space.machines.size() > 1)
    for (const ScoredPlan& scored : report.result.pareto)
      if (auto plan = finalist_of(forecast_plan(scenario, space, scored, EngineKind::closed_form),
                                  options.limits))
        report.pareto.push_back(std::move(*plan));
  if (report.result.nearest && !report.nearest)
    report.nearest =
        forecast_plan(scenario, space, report.result.nearest->plan, EngineKind::closed_form);
  return report;
}

std::optional<double> gap_of_standing(const PlanReport& report) {
  if (!report.standing || !report.standing->report.prediction.step || report.plans.empty())
    return std::nullopt;
  const auto key = [&](const Report& plan, Seconds step) {
    return plan_key(plan.scenario.job, report.options.by, step).first;
  };
  const Report& own = report.standing->report;
  const Finalist& winner = report.plans.front();
  return key(own, own.prediction.step->time) / key(winner.report, winner.step.time) - 1.0;
}

std::string scenario_with(const std::string& base, const std::string& name,
                          const std::vector<std::string>& settings) {
  Node root;
  for (const std::string& setting : settings) insert(root, setting);
  std::erase_if(root.children, [](const auto& child) { return child.name == "name"; });
  std::string text = "schema: 1\nextends: " + base + "\nname: " + name + "\n";
  write(root, "", text);
  return text;
}

}  // namespace foretrain
