// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <tuple>
#include <utility>

#include "planner/event_report.hpp"
#include "planner/plan_report.hpp"
#include "planner/usage_error.hpp"

namespace foretrain {
namespace {

std::string recompute_name(const SearchSpace& space, std::int64_t index) {
  return space.recompute[static_cast<std::size_t>(index) % space.recompute.size()].name;
}

Finalist finalist(const Scenario& scenario, const SearchSpace& space, const ScoredPlan& scored,
                  EngineKind engine) {
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

/// The order of SearchOptions::by with the finalists' own step times.
void rank(std::vector<Finalist>& plans, RankBy by) {
  const auto key = [by](const Finalist& plan) {
    return std::tuple{plan_key(plan.report.scenario.job, by, plan.report.prediction.step->time),
                      plan.scored.peak.value(), plan.scored.index};
  };
  std::sort(plans.begin(), plans.end(),
            [&](const Finalist& a, const Finalist& b) { return key(a) < key(b); });
}

/// The first `count` played on their fabrics, where flows meet, and ordered by that. A plan that
/// the fabric cannot run at all keeps its forecast by path and comes behind them.
void play(std::vector<Finalist>& plans, std::size_t count, RankBy by) {
  std::vector<Finalist> played(
      plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(std::min(count, plans.size())));
  std::vector<Finalist> rest(plans.begin() + static_cast<std::ptrdiff_t>(played.size()),
                             plans.end());
  plans.clear();
  for (Finalist& plan : played) {
    Report report = evaluate_event(plan.report.scenario, AttentionFlops::full).report;
    if (report.prediction.step) plan.report = std::move(report);
    const bool ran = plan.report.prediction.engine == EngineKind::event;
    (ran ? plans : rest).push_back(std::move(plan));
  }
  rank(plans, by);
  plans.insert(plans.end(), std::make_move_iterator(rest.begin()),
               std::make_move_iterator(rest.end()));
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
  if (!memory_excess(limits, scenario.job.cluster.host.device, scored.peak) &&
      !run_excess(limits, scenario.job, scored.step))
    options.reference = plan_key(scenario.job, options.by, scored.step);
  return standing;
}

/// A group of keys, or a value, as a YAML mapping has them.
struct Node {
  std::string value;
  std::vector<std::pair<std::string, Node>> children;

  Node& child(const std::string& name) {
    for (auto& [known, node] : children)
      if (known == name) return node;
    children.emplace_back(name, Node{});
    return children.back().second;
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
  for (const auto& [name, child] : node.children) {
    text += indentation + name + ":" + (child.value.empty() ? "" : " " + child.value) + "\n";
    write(child, indentation + "  ", text);
  }
}

}  // namespace

PlanReport plan(const Scenario& scenario, const SearchSpace& space, const SearchOptions& options,
                const std::optional<PlanQuestion>& question) {
  PlanReport report{scenario, space, options, {}, {}, {}, {}, {}};
  if (question) report.standing = standing_of(*question, report.options);
  report.result = search(scenario.job, space, report.options);
  if (report.standing && report.options.reference) report.standing->rank = report.result.better + 1;
  Patience patience{options.stop};
  for (const ScoredPlan& scored : report.result.best) {
    if (!report.plans.empty() && patience.is_over()) break;
    report.plans.push_back(finalist(scenario, space, scored, EngineKind::path));
  }
  rank(report.plans, options.by);
  if (options.on_fabric > 0 && !patience.is_over())
    play(report.plans, options.on_fabric, options.by);
  if (space.machines.size() > 1)
    for (const ScoredPlan& scored : report.result.pareto)
      report.pareto.push_back(finalist(scenario, space, scored, EngineKind::closed_form));
  if (report.result.nearest)
    report.nearest =
        finalist(scenario, space, report.result.nearest->plan, EngineKind::closed_form);
  return report;
}

std::string scenario_with(const std::string& base, const std::string& name,
                          const std::vector<std::string>& settings) {
  Node root;
  for (const std::string& setting : settings) insert(root, setting);
  std::erase_if(root.children, [](const auto& child) { return child.first == "name"; });
  std::string text = "schema: 1\nextends: " + base + "\nname: " + name + "\n";
  write(root, "", text);
  return text;
}

}  // namespace foretrain
