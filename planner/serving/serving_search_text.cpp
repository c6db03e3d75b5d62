// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/serving/internal/serving_words.hpp"
#include "planner/serving/serving_search.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

using serving_words::cost_tree;
using serving_words::layout_tree;
using Align = TextTable::Align;

constexpr std::size_t shown_refusals = 6;

std::string goal_words(const ServingGoals& goals) {
  std::string text;
  if (goals.ttft)
    text = fmt::format("TTFT P{:g} <= {}", goals.percentile, seconds_text(*goals.ttft));
  if (goals.tpot)
    text += fmt::format("{}TPOT P{:g} <= {}", text.empty() ? "" : ", ", goals.percentile,
                        seconds_text(*goals.tpot));
  return text;
}

std::string head_text(const Scenario& scenario, const std::string& what, const TextStyle& style) {
  return toned(cut(scenario.job.name, style.width - 30), Tone::strong, style) +
         fmt::format(": {} (foretrain {})\n\n", what, version);
}

std::string cost_cell(const ServingPoint& point) {
  return point.cost ? fmt::format("${:.3f}", point.cost->per_million_output) : "-";
}

std::string goal_cell(const ServingPoint& point, const char* name, double otherwise) {
  for (const GoalVerdict& goal : point.goals)
    if (goal.name == name) return seconds_text(goal.reached);
  return seconds_text(Seconds{otherwise});
}

std::string counted_layout(const ServingPoint& point) {
  std::string serve =
      fmt::format("{} x {}", point.plan.layout.replicas, layout_text(point.plan.layout));
  if (point.plan.prefill.replicas == 0) return serve;
  return fmt::format("{} x {} prefill + {}", point.plan.prefill.replicas,
                     layout_text(point.plan.prefill), serve);
}

std::string refused_text(const ServingSearch& search, const TextStyle& style) {
  if (search.refused.empty()) return "";
  std::string text = "\n" + toned("Looked at and left out", Tone::strong, style) + "\n";
  for (std::size_t i = 0; i < search.refused.size() && i < shown_refusals; ++i)
    text += hanging("  " + layout_text(search.refused[i].layout) + ": ", search.refused[i].reason,
                    style);
  if (search.refused.size() > shown_refusals)
    text +=
        fmt::format("  and {} more (--json lists all)\n", search.refused.size() - shown_refusals);
  return text;
}

std::string command_text(const Scenario& scenario, const ServingPoint& point,
                         const TextStyle& style) {
  std::string text = "\n" + toned("The same figures again", Tone::strong, style) +
                     "\n  foretrain serve " + scenario.path;
  for (const std::string& flag : overrides_of(point, *scenario.serving))
    text += " \\\n    --set " + (flag.find(' ') == std::string::npos ? flag : "\"" + flag + "\"");
  return text + "\n";
}

Json point_tree(const ServingPoint& point, const ServingPlan& plan) {
  Json goals = Json::object();
  for (const GoalVerdict& goal : point.goals) goals[goal.name + "_s"] = goal.reached.value();
  return {{"gpus", point.gpus},
          {"hosts", point.hosts},
          {"keeps_goals", point.keeps_goals},
          {"whole_load", point.whole},
          {"on_front", point.on_front},
          {"serve", layout_tree(point.plan.layout)},
          {"prefill",
           point.plan.prefill.replicas > 0 ? layout_tree(point.plan.prefill) : Json(nullptr)},
          {"concurrency", point.plan.load.arrivals == ArrivalKind::closed
                              ? Json(point.plan.load.concurrency)
                              : Json(nullptr)},
          {"goals", goals},
          {"ttft_s", {{"mean", point.summary.ttft.mean}, {"p90", point.summary.ttft.p90}}},
          {"tpot_s", {{"mean", point.summary.tpot.mean}, {"p90", point.summary.tpot.p90}}},
          {"output_tokens_per_s", point.summary.output_tokens_per_s},
          {"output_tokens_per_s_per_gpu", point.gpu_tokens_per_s()},
          {"output_tokens_per_s_per_user", point.user_tokens_per_s()},
          {"cost", cost_tree(point.cost)},
          {"overrides", overrides_of(point, plan)}};
}

}  // namespace

std::vector<std::string> overrides_of(const ServingPoint& point, const ServingPlan& scenario) {
  std::vector<std::string> flags;
  const auto set = [&](const std::string& key, int value) {
    flags.push_back(fmt::format("{}={}", key, value));
  };
  const auto layout = [&](const std::string& at, const ServingLayout& now,
                          const ServingLayout& before) {
    if (now.tensor != before.tensor) set(at + ".tensor", now.tensor);
    if (now.pipeline != before.pipeline) set(at + ".pipeline", now.pipeline);
    if (now.attention_data != before.attention_data)
      set(at + ".attention_data", now.attention_data);
    if (now.expert != before.expert) set(at + ".expert", now.expert);
  };
  set("cluster.hosts", point.hosts);
  layout("serving.parallel", point.plan.layout, scenario.layout);
  set("serving.replicas", point.plan.layout.replicas);
  if (point.plan.prefill.replicas > 0) {
    layout("serving.prefill", point.plan.prefill, scenario.prefill);
    set("serving.prefill.replicas", point.plan.prefill.replicas);
  }
  const RequestLoad& load = point.plan.load;
  if (load.arrivals == scenario.load.arrivals && load.concurrency == scenario.load.concurrency)
    return flags;
  flags.push_back(fmt::format("serving.requests.arrivals={}", name_of(load.arrivals)));
  set("serving.requests.concurrency", load.concurrency);
  set("serving.requests.number", load.requests);
  if (scenario.load.arrivals == ArrivalKind::trace) {
    flags.push_back("serving.requests.prompt=" + format_number(load.prompt.mean));
    flags.push_back("serving.requests.output=" + format_number(load.output.mean));
  }
  for (const auto& [key, time] :
       {std::pair{"warm_up", point.plan.warm_up}, std::pair{"duration", point.plan.duration}})
    flags.push_back(fmt::format("serving.{}={} s", key, format_number(time.value())));
  return flags;
}

std::string fewest_text(const Scenario& scenario, const ServingSearch& search,
                        const TextStyle& style) {
  std::string text = head_text(scenario, "fewest GPUs", style);
  text += labelled("Goals", goal_words(scenario.serving->goals), style);
  if (search.points.empty() || !search.points.front().keeps_goals) {
    text += labelled(
        "Answer", search.stopped ? "interrupted before one was found" : "no layout keeps the goals",
        style);
    return text + refused_text(search, style);
  }
  const ServingPoint& best = search.points.front();
  text += labelled("Answer",
                   fmt::format("{} GPUs on {} host{} of {}: {}", with_thousands(best.gpus),
                               best.hosts, best.hosts == 1 ? "" : "s",
                               scenario.job.cluster.host.title, counted_layout(best)),
                   style);
  TextTable table{{Align::left, Align::right, Align::right, Align::right, Align::right,
                   Align::right, Align::left}};
  const std::string percentile = fmt::format("P{:g}", scenario.serving->goals.percentile);
  table.add({"layout", "GPUs", "TTFT " + percentile, "TPOT " + percentile, "tokens/s", "$/M out",
             "load"});
  for (const ServingPoint& point : search.points)
    table.add({counted_layout(point), with_thousands(point.gpus),
               goal_cell(point, "ttft", point.summary.ttft.p90),
               goal_cell(point, "tpot", point.summary.tpot.p90),
               significant_text(point.summary.output_tokens_per_s), cost_cell(point),
               point.whole ? "whole" : "part"});
  text +=
      "\n" + table.text(style) + refused_text(search, style) + command_text(scenario, best, style);
  if (search.stopped) text += "\ninterrupted: not all layouts were looked at\n";
  return text;
}

std::string pareto_text(const Scenario& scenario, const ServingSearch& search,
                        const TextStyle& style) {
  std::string text = head_text(scenario, "latency against throughput", style);
  text += hanging("",
                  "One replica with 1, 2, 4, ... clients that each wait for their answer; shown is "
                  "what no other beats in both tokens/s per user and tokens/s per GPU.",
                  style) +
          "\n";
  TextTable table{
      {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right}};
  table.add({"layout", "clients", "per user", "per GPU", "TTFT", "$/M out"});
  std::vector<const ServingPoint*> front;
  for (const ServingPoint& point : search.points)
    if (point.on_front) front.push_back(&point);
  std::sort(front.begin(), front.end(), [](const ServingPoint* a, const ServingPoint* b) {
    return a->user_tokens_per_s() > b->user_tokens_per_s();
  });
  for (const ServingPoint* point : front)
    table.add({layout_text(point->plan.layout), with_thousands(point->plan.load.concurrency),
               significant_text(point->user_tokens_per_s()),
               significant_text(point->gpu_tokens_per_s()),
               seconds_text(Seconds{point->summary.ttft.mean}), cost_cell(*point)});
  text += table.text(style) + refused_text(search, style);
  if (search.stopped) text += "\ninterrupted: not all layouts were looked at\n";
  return text;
}

std::string serving_search_json(const Scenario& scenario, const ServingSearch& search,
                                const std::string& question) {
  Json points = Json::array();
  for (const ServingPoint& point : search.points)
    points.push_back(point_tree(point, *scenario.serving));
  Json refused = Json::array();
  for (const RefusedLayout& layout : search.refused)
    refused.push_back({{"layout", layout_tree(layout.layout)}, {"reason", layout.reason}});
  const ServingGoals& goals = scenario.serving->goals;
  const auto limit = [](const std::optional<Seconds>& time) {
    return time ? Json(time->value()) : Json(nullptr);
  };
  const bool found = !search.points.empty() && search.points.front().keeps_goals;
  return dump({{"schema", "serving-search/1"},
               {"foretrain_version", version},
               {"question", question},
               {"name", search.name},
               {"goals",
                {{"ttft_s", limit(goals.ttft)},
                 {"tpot_s", limit(goals.tpot)},
                 {"percentile", goals.percentile}}},
               {"fewest_gpus",
                question == "fewest" && found ? Json(search.points.front().gpus) : Json(nullptr)},
               {"stopped", search.stopped},
               {"points", std::move(points)},
               {"refused", std::move(refused)}});
}

}  // namespace foretrain
