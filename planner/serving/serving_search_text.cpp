// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "planner/serving/internal/serving_words.hpp"
#include "planner/serving/serving_search.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/shell_word.hpp"
#include "planner/version.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

using serving_words::cost_tree;
using serving_words::layout_tree;

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

AnswerSection refused_section(const ServingSearch& search) {
  AnswerSection section{"Looked at and left out"};
  for (std::size_t i = 0; i < search.refused.size() && i < shown_refusals; ++i)
    section.blocks.emplace_back(
        AnswerLine{search.refused[i].reason, layout_text(search.refused[i].layout) + ": "});
  if (search.refused.size() > shown_refusals)
    section.blocks.emplace_back(AnswerLine{
        fmt::format("and {} more (--json lists all)", search.refused.size() - shown_refusals)});
  return section;
}

AnswerSection stopped_section(const ServingSearch& search) {
  AnswerSection section;
  if (search.stopped)
    section.blocks.emplace_back(AnswerLine{"interrupted: not all layouts were looked at"});
  return section;
}

/// With what the command line changed before.
std::string command_of(const Scenario& scenario, const ServingPoint& point) {
  std::vector<std::string> settings = scenario.source.options.overrides;
  for (std::string& setting : overrides_of(point, *scenario.serving))
    settings.push_back(std::move(setting));
  return fmt::format("foretrain serve {} {}", shell_word(scenario.path), set_words(settings));
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

namespace {

/// What the ends of the band take.
std::string range_words(const ServingSearch& search) {
  if (!search.fewest_fast) return "";
  const std::string fast = with_thousands(*search.fewest_fast);
  if (!search.fewest_slow)
    return fmt::format(
        "At the fast end of the band {} do; at its slow end not even {} GPUs of this layout.", fast,
        with_thousands(most_serving_gpus));
  return fmt::format("At the fast end of the band {} do, at its slow end it takes {}.", fast,
                     with_thousands(*search.fewest_slow));
}

}  // namespace

Answer fewest_answer(const Scenario& scenario, const ServingSearch& search) {
  Answer answer;
  AnswerHead& head = answer.head;
  head.subject = scenario.job.name;
  head.made_by = "fewest GPUs";
  AnswerFacts goals;
  goals.add("Goals", goal_words(scenario.serving->goals));
  answer.add("", std::move(goals));
  if (search.points.empty() || !search.points.front().keeps_goals) {
    head.verdict = Verdict::no;
    head.words = "NO LAYOUT KEEPS THE GOALS";
    head.sentence = "No layout keeps the goals.";
    if (search.stopped) head = interrupted_head(std::move(head), "one was found");
    answer.add(refused_section(search));
    return answer;
  }
  const ServingPoint& best = search.points.front();
  head.verdict = Verdict::safe;
  head.words = fmt::format("{} GPUs", with_thousands(best.gpus));
  head.sentence = fmt::format("{} GPUs on {} host{} of {} keep the goals: {}.",
                              with_thousands(best.gpus), best.hosts, best.hosts == 1 ? "" : "s",
                              scenario.job.cluster.host.title, counted_layout(best));
  head.sentence += " " + range_words(search);
  if (search.stopped) head.sentence = "Interrupted, so far: " + head.sentence;
  if (!scenario.path.empty()) head.next = command_of(scenario, best);
  const std::string percentile = fmt::format("P{:g}", scenario.serving->goals.percentile);
  AnswerTable table{{words_column("layout"), number_column("GPUs"),
                     number_column("TTFT " + percentile), number_column("TPOT " + percentile),
                     number_column("tokens/s"), number_column("$/M out"), words_column("load")}};
  for (const ServingPoint& point : search.points)
    table.add({counted_layout(point), with_thousands(point.gpus),
               goal_cell(point, "ttft", point.summary.ttft.p90),
               goal_cell(point, "tpot", point.summary.tpot.p90),
               significant_text(point.summary.output_tokens_per_s), cost_cell(point),
               point.whole ? "whole" : "part"});
  answer.add("", std::move(table));
  answer.add(refused_section(search));
  answer.add(stopped_section(search));
  return answer;
}

Answer pareto_answer(const Scenario& scenario, const ServingSearch& search) {
  Answer answer;
  answer.head.subject = scenario.job.name;
  answer.head.words = "latency against throughput";
  answer.head.sentence =
      "One replica with 1, 2, 4, ... clients that each wait for their answer; shown is what no "
      "other beats in both tokens/s per user and tokens/s per GPU.";
  AnswerTable table{{words_column("layout"), number_column("clients"), number_column("per user"),
                     number_column("per GPU"), number_column("TTFT"), number_column("$/M out")}};
  std::vector<const ServingPoint*> front;
  for (const ServingPoint& point : search.points)
    if (point.on_front) front.push_back(&point);
  std::ranges::sort(front, [](const ServingPoint* a, const ServingPoint* b) {
    return a->user_tokens_per_s() > b->user_tokens_per_s();
  });
  for (const ServingPoint* point : front)
    table.add({layout_text(point->plan.layout), with_thousands(point->plan.load.concurrency),
               significant_text(point->user_tokens_per_s()),
               significant_text(point->gpu_tokens_per_s()),
               seconds_text(Seconds{point->summary.ttft.mean}), cost_cell(*point)});
  answer.add("", std::move(table));
  answer.add(refused_section(search));
  answer.add(stopped_section(search));
  return answer;
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
               {"fewest_gpus_fast", search.fewest_fast ? Json(*search.fewest_fast) : Json(nullptr)},
               {"fewest_gpus_slow", search.fewest_slow ? Json(*search.fewest_slow) : Json(nullptr)},
               {"stopped", search.stopped},
               {"points", std::move(points)},
               {"refused", std::move(refused)}});
}

}  // namespace foretrain
