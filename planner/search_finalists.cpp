// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "planner/search.hpp"
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

/// The order of SearchOptions::by with the finalists' own step times.
void rank(std::vector<Finalist>& plans, RankBy by) {
  const auto key = [by](const Finalist& plan) {
    const Job& job = plan.report.scenario.job;
    const double gpus = job.cluster.gpus();
    const double per_sequence =
        plan.report.prediction.step->time.value() / job.training.global_batch;
    const double first = by == RankBy::time   ? per_sequence
                         : by == RankBy::cost ? per_sequence * gpus
                                              : gpus;
    return std::tuple{first, per_sequence, plan.scored.peak.value(), plan.scored.index};
  };
  std::sort(plans.begin(), plans.end(),
            [&](const Finalist& a, const Finalist& b) { return key(a) < key(b); });
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

std::vector<std::string> settings_at(const Job& base, const SearchSpace& space,
                                     std::int64_t index) {
  const Job job = job_at(base, space, index);
  const Parallel& plan = job.parallel;
  std::vector<std::string> settings;
  const auto set = [&](std::string_view key, const auto& value) {
    settings.push_back(fmt::format("{}={}", key, value));
  };
  if (job.cluster.hosts != base.cluster.hosts || space.machines.size() > 1)
    set("cluster.hosts", job.cluster.hosts);
  if (job.training.global_batch != base.training.global_batch || space.global_batch.size() > 1)
    set("training.global_batch", job.training.global_batch);
  set("training.micro_batch", job.training.micro_batch);
  set("parallel.tensor", plan.tensor);
  set("parallel.sequence", plan.sequence);
  set("parallel.context", plan.context);
  set("parallel.pipeline", plan.pipeline);
  set("parallel.virtual_stages", plan.virtual_stages);
  set("parallel.schedule", name_of(plan.schedule));
  if (job.model.moe) set("parallel.expert", plan.expert);
  set("parallel.data", plan.data);
  set("parallel.zero", plan.zero);
  const RecomputeChoice& recompute =
      space.recompute[static_cast<std::size_t>(index) % space.recompute.size()];
  if (!recompute.given) set("memory.recompute", recompute.name);
  return settings;
}

PlanReport plan(const Scenario& scenario, const SearchSpace& space, const SearchOptions& options) {
  PlanReport report{scenario, space, options, search(scenario.job, space, options), {}, {}, {}};
  for (const ScoredPlan& scored : report.result.best)
    report.plans.push_back(finalist(scenario, space, scored, EngineKind::path));
  rank(report.plans, options.by);
  if (space.machines.size() > 1)
    for (const ScoredPlan& scored : report.result.pareto)
      report.pareto.push_back(finalist(scenario, space, scored, EngineKind::closed_form));
  if (report.result.nearest)
    report.nearest = finalist(scenario, space, *report.result.nearest, EngineKind::closed_form);
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
