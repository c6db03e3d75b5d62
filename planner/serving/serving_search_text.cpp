// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "planner/answer/value_json.hpp"
#include "planner/serving/serving_fit.hpp"
#include "planner/serving/serving_search.hpp"
#include "planner/text/format.hpp"
#include "planner/text/quoting.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

using serving_words::cost_values;
using serving_words::layout_values;

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

/// A deployment beside the scenario's plan, from which it differs by its overrides.
struct PointShown {
  const ServingPoint& point;
  const ServingPlan& plan;
};

std::vector<std::pair<std::string, Seconds>> reached(const PointShown& shown) {
  std::vector<std::pair<std::string, Seconds>> goals;
  for (const GoalVerdict& goal : shown.point.goals)
    goals.emplace_back(goal.name + "_s", goal.reached);
  return goals;
}

const ValueTable<PointShown> point_values =
    ValueTable<PointShown>{}
        .add("gpus", [](const PointShown& shown) { return shown.point.gpus; })
        .add("hosts", [](const PointShown& shown) { return shown.point.hosts; })
        .add("keeps_goals", [](const PointShown& shown) { return shown.point.keeps_goals; })
        .add(
            "whole_load", [](const PointShown& shown) { return shown.point.whole; },
            "True: simulated with the whole load, not a part of it.")
        .add(
            "on_front", [](const PointShown& shown) { return shown.point.on_front; },
            "True: on the Pareto front of latency and throughput.")
        .add(
            "serve", [](const PointShown& shown) { return shown.point.plan.layout; },
            layout_values())
        .add(
            "prefill",
            [](const PointShown& shown) {
              const ServingLayout& prefill = shown.point.plan.prefill;
              return prefill.replicas > 0 ? &prefill : nullptr;
            },
            layout_values())
        .add(
            "concurrency",
            [](const PointShown& shown) {
              const auto& load = shown.point.plan.load;
              return load.arrivals == ArrivalKind::closed ? std::optional(load.concurrency)
                                                          : std::nullopt;
            },
            "Concurrent users who wait for their answers.")
        .add("goals", reached, "Latencies that the goals limit, at their percentile.")
        .add("ttft_s.mean", [](const PointShown& shown) { return shown.point.summary.ttft.mean; })
        .add("ttft_s.p90", [](const PointShown& shown) { return shown.point.summary.ttft.p90; })
        .add("tpot_s.mean", [](const PointShown& shown) { return shown.point.summary.tpot.mean; })
        .add("tpot_s.p90", [](const PointShown& shown) { return shown.point.summary.tpot.p90; })
        .add("output_tokens_per_s",
             [](const PointShown& shown) { return shown.point.summary.output_tokens_per_s; })
        .add("output_tokens_per_s_per_gpu",
             [](const PointShown& shown) { return shown.point.gpu_tokens_per_s(); })
        .add("output_tokens_per_s_per_user",
             [](const PointShown& shown) { return shown.point.user_tokens_per_s(); })
        .add(
            "cost", [](const PointShown& shown) { return shown.point.cost; }, cost_values())
        .add(
            "overrides",
            [](const PointShown& shown) { return overrides_of(shown.point, shown.plan); },
            "Settings of the deployment, as for --set.");

const ValueTable<RefusedLayout> refused_values =
    ValueTable<RefusedLayout>{}
        .add("layout", &RefusedLayout::layout, layout_values())
        .add("reason", &RefusedLayout::reason);

struct SearchShown {
  const Scenario& scenario;
  const ServingSearch& search;
  const std::string& question;
};

std::vector<PointShown> points_of(const SearchShown& shown) {
  std::vector<PointShown> points;
  for (const ServingPoint& point : shown.search.points)
    points.push_back({point, *shown.scenario.serving});
  return points;
}

const ValueTable<SearchShown>& serving_search_table() {
  using R = const SearchShown&;
  static const auto table =
      ValueTable<SearchShown>{"serving-search/1",
                              "foretrain serve --fewest or --pareto, --json: schema "
                              "serving-search/1; null is unknown"}
          .add(
              "question", [](R shown) { return shown.question; }, "\"fewest\" or \"pareto\".")
          .add("name", [](R shown) { return shown.search.name; })
          .add("goals.ttft_s", [](R shown) { return shown.scenario.serving->goals.ttft; })
          .add("goals.tpot_s", [](R shown) { return shown.scenario.serving->goals.tpot; })
          .add("goals.percentile", [](R shown) { return shown.scenario.serving->goals.percentile; })
          .add(
              "fewest_gpus",
              [](R shown) {
                const auto& points = shown.search.points;
                const bool found = !points.empty() && points.front().keeps_goals;
                return shown.question == "fewest" && found ? std::optional(points.front().gpus)
                                                           : std::nullopt;
              },
              "Fewest GPUs that keep the goals; null: none was found.")
          .add(
              "fewest_gpus_fast", [](R shown) { return shown.search.fewest_fast; },
              "Fewest GPUs at the fast end of the band.")
          .add(
              "fewest_gpus_slow", [](R shown) { return shown.search.fewest_slow; },
              "Fewest GPUs at the slow end of the band.")
          .add(
              "stopped", [](R shown) { return shown.search.stopped; },
              "Interrupted: not all layouts were looked at.")
          .add("points", points_of, point_values)
          .add(
              "refused", [](R shown) { return shown.search.refused; }, refused_values);
  return table;
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
  return json_text(serving_search_table(), SearchShown{scenario, search, question});
}

const ValueRows& serving_search_document() { return serving_search_table().rows(); }

}  // namespace foretrain
