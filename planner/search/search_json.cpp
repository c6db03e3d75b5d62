// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/answer/step_part.hpp"
#include "planner/forecast/plan_difference.hpp"
#include "planner/forecast/report_csv.hpp"
#include "planner/search/search_report.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

Json plan_tree(const ForecastPlan& plan) {
  const Job& job = plan.report.scenario.job;
  const Parallel& p = job.parallel;
  const Prediction& forecast = plan.report.prediction;
  Json tree{{"gpus", job.cluster.gpus()},
            {"global_batch", job.training.global_batch},
            {"micro_batch", job.training.micro_batch},
            {"tensor", p.tensor},
            {"sequence", p.sequence},
            {"context", p.context},
            {"pipeline", p.pipeline},
            {"virtual_stages", p.virtual_stages},
            {"schedule", name_of(p.schedule)},
            {"expert", p.expert},
            {"expert_tensor", p.expert_tensor_size()},
            {"data", p.data},
            {"zero", p.zero},
            {"recompute", plan.recompute},
            {"offload", name_of(job.memory.offload)},
            {"set", plan.settings},
            {"engine", name_of(forecast.engine)}};
  const auto number = [&](const char* key, std::optional<double> value) {
    tree[key] = number_or_null(value);
  };
  const auto& step = forecast.step;
  number("step_s", step ? std::optional(step->time.value()) : std::nullopt);
  const Seconds fast = plan.scored.step;  // zero: too heavy to be timed
  number("step_closed_form_s", fast > Seconds{} ? std::optional(fast.value()) : std::nullopt);
  number("mfu", forecast.efficiency ? std::optional(forecast.efficiency->mfu) : std::nullopt);
  number("peak_bytes", plan.scored.peak.value());
  number("usable_bytes", job.cluster.host.device.usable_memory.value());
  const auto duration = run_duration(forecast);
  number("run_s", duration ? std::optional(duration->value()) : std::nullopt);
  number("gpu_hours", forecast.cost.gpu_hours);
  number("price_usd",
         forecast.cost.price ? std::optional(forecast.cost.price->value()) : std::nullopt);
  Json breakdown = nullptr;
  if (step) {
    breakdown = Json::object();
    for (const StepPart& part : step_parts())
      breakdown[std::string(part.key)] = number_or_null((step->breakdown.*part.time).value());
  }
  tree["breakdown"] = std::move(breakdown);
  return tree;
}

Json plans_tree(const std::vector<Finalist>& plans) {
  Json list = Json::array();
  for (const Finalist& plan : plans) list.push_back(plan_tree(plan));
  return list;
}

Json nearest_tree(const PlanReport& report) {
  if (!report.nearest) return nullptr;
  Json tree = plan_tree(*report.nearest);
  const Excess& excess = report.result.nearest->excess;
  tree["limit"] = excess.rule;
  tree["over_limit"] = number_or_null(excess.ratio);
  tree["missing"] = excess.message;
  return tree;
}

Json limits_tree(const SearchLimits& limits) {
  const auto number = [](const auto& value) {
    return value ? number_or_null(value->value()) : Json(nullptr);
  };
  return {{"memory_share", limits.memory_share()},
          {"memory_band", limits.default_room()},
          {"headroom_bytes", limits.headroom.value_or(Bytes{}).value()},
          {"step_s", number(limits.max_step)},
          {"run_s", number(limits.max_run)},
          {"price_usd", number(limits.max_price)},
          {"power_w", number(limits.max_power)}};
}

/// The plan that was asked about.
Json standing_tree(const PlanReport& report) {
  if (!report.standing) return nullptr;
  const Standing& standing = *report.standing;
  const Prediction& own = standing.report.prediction;
  Json tree{{"set", standing.settings},
            {"feasible", own.feasible()},
            {"rank", standing.rank ? Json(*standing.rank) : Json(nullptr)},
            {"step_s", own.step ? number_or_null(own.step->time.value()) : Json(nullptr)},
            {"step_closed_form_s",
             own.step ? number_or_null(standing.closed_form.value()) : Json(nullptr)},
            {"gap", nullptr},
            {"conditions", Json::array()}};
  if (!own.step || report.plans.empty()) return tree;
  tree["gap"] = number_or_null(gap_of_standing(report));
  tree["conditions"] = conditions_of_gain(report.plans.front().report, standing.report);
  return tree;
}

}  // namespace

std::string plan_json(const PlanReport& report) {
  const SearchResult& result = report.result;
  Json axes = Json::object();
  for (const auto& [key, values] : axes_of(report.space)) axes[key] = values;
  Json rejected = Json::object();
  for (const auto& [rule, rejection] : result.rejected) rejected[rule] = rejection.count;
  const Json tree{{"schema", "plan/1"},
                  {"foretrain_version", version},
                  {"name", report.scenario.job.name},
                  {"by", name_of(report.options.by)},
                  {"axes", std::move(axes)},
                  {"limits", limits_tree(report.options.limits)},
                  {"combinations", result.combinations},
                  {"complete", result.complete()},
                  {"evaluated", result.evaluated},
                  {"feasible", result.feasible},
                  {"left_out", report.left_out},
                  {"rejected", std::move(rejected)},
                  {"plans", plans_tree(report.plans)},
                  {"pareto", plans_tree(report.pareto)},
                  {"nearest", nearest_tree(report)},
                  {"standing", standing_tree(report)}};
  return dump(tree);
}

std::string plan_csv(const PlanReport& report) {
  std::string text;
  int rank = 0;
  for (const Finalist& plan : report.plans) {
    Json tree = plan_tree(plan);
    tree.erase("set");
    tree.erase("breakdown");
    std::string head = "rank";
    std::string row = std::to_string(++rank);
    for (const auto& [key, value] : tree.items()) {
      head += "," + key;
      row += ",";
      if (value.is_string())
        row += csv_field(value.get<std::string>());
      else if (!value.is_null())
        row += value.dump();
    }
    if (text.empty()) text = head + "\r\n";
    text += row + "\r\n";
  }
  return text;
}

}  // namespace foretrain
