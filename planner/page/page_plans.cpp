// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "planner/forecast/plan_difference.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/page/internal/page_tree.hpp"
#include "planner/text/format.hpp"
#include "planner/text/plan_words.hpp"

namespace foretrain {
namespace {

/// What identifies a plan at a glance: "tp 2 pp 8 dp 64 zero 1 mbs 1, 1f1b, recompute none"; with
/// the GPUs in front where plans of several machines are shown.
std::string short_plan(const Finalist& plan, bool machines) {
  const Job& job = plan.report.scenario.job;
  const Parallel& p = job.parallel;
  return (machines ? with_thousands(job.cluster.gpus()) + " GPUs, " : "") + axis_words(p) +
         fmt::format(" zero {} mbs {}, {}, recompute {}", p.zero, job.training.micro_batch,
                     name_of(p.schedule), plan.recompute);
}

/// Seconds per sequence: what plans of different batches are ordered by.
double pace(const Finalist& plan) {
  return plan.step.time.value() / plan.report.scenario.job.training.global_batch;
}

Json forecast_tree(const Report& report, Bytes peak) {
  const Prediction& p = report.prediction;
  const auto run = run_duration(p);
  return {{"gpus", report.scenario.job.cluster.gpus()},
          {"batch", report.scenario.job.training.global_batch},
          {"step", p.step ? number_or_null(p.step->time.value()) : Json(nullptr)},
          {"mfu", p.efficiency ? number_or_null(p.efficiency->mfu) : Json(nullptr)},
          {"peak", number_or_null(peak.value())},
          {"usable", report.scenario.job.cluster.host.device.usable_memory.value()},
          {"run", run ? number_or_null(run->value()) : Json(nullptr)},
          {"gpu_hours", number_or_null(p.cost.gpu_hours)},
          {"usd", p.cost.price ? number_or_null(p.cost.price->value()) : Json(nullptr)}};
}

/// Nobody else is both faster and smaller.
bool on_front(const Finalist& plan, const std::vector<Finalist>& plans) {
  return std::none_of(plans.begin(), plans.end(), [&](const Finalist& other) {
    const bool no_worse = other.scored.peak <= plan.scored.peak && pace(other) <= pace(plan);
    const bool better = other.scored.peak < plan.scored.peak || pace(other) < pace(plan);
    return no_worse && better;
  });
}

Json finalist_tree(const Finalist& plan, bool machines) {
  Json tree = forecast_tree(plan.report, plan.scored.peak);
  tree["name"] = short_plan(plan, machines);
  tree["set"] = plan.settings;
  return tree;
}

Json own_tree(const PlanReport& plans) {
  if (!plans.standing) return nullptr;
  const Report& report = plans.standing->report;
  const Prediction& p = report.prediction;
  if (!p.step || !p.memory) return nullptr;
  Json tree = forecast_tree(report, p.memory->peak);
  tree["rank"] = plans.standing->rank ? Json(*plans.standing->rank) : Json(nullptr);
  tree["why"] = plans.plans.empty()
                    ? Json(nullptr)
                    : Json(difference_sentences(plans.plans.front().report, report));
  return tree;
}

}  // namespace

Json plans_tree(const PlanReport& plans) {
  const bool machines = plans.space.machines.size() > 1;
  Json list = Json::array();
  for (const Finalist& plan : plans.plans) {
    Json tree = finalist_tree(plan, machines);
    tree["front"] = on_front(plan, plans.plans);
    list.push_back(std::move(tree));
  }
  Json pareto = Json::array();
  for (const Finalist& plan : plans.pareto) pareto.push_back(finalist_tree(plan, machines));
  Json rejected = Json::array();
  for (const auto& [rule, rejection] : plans.result.rejected)
    rejected.push_back({rule, rejection.count, rejection.example});
  Json axes = Json::array();
  for (const auto& [key, values] : axes_of(plans.space))
    axes.push_back({key, fmt::format("{}", fmt::join(values, ", "))});
  return {{"evaluated", plans.result.evaluated},
          {"feasible", plans.result.feasible},
          {"axes", std::move(axes)},
          {"rejected", std::move(rejected)},
          {"plans", std::move(list)},
          {"pareto", std::move(pareto)},
          {"own", own_tree(plans)}};
}

}  // namespace foretrain
