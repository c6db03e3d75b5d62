// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "planner/forecast/plan_moves.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/scene/scene.hpp"
#include "planner/search/plan_report.hpp"
#include "planner/text/format.hpp"
#include "planner/text/plan_words.hpp"
#include "planner/text/quoting.hpp"
#include "scenarios/sections/parallel_keys.hpp"

namespace foretrain {
namespace {

using Plans = std::vector<Finalist>;

constexpr double least_gain_to_explain = 0.1;

std::string limits_words(const SearchLimits& limits) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const std::string& value) {
    parts.push_back(fmt::format("{} {}", name, value));
  };
  if (limits.memory_share() < 1.0) add("memory", percent_text(limits.memory_share()));
  if (limits.headroom && *limits.headroom > Bytes{}) add("headroom", bytes_text(*limits.headroom));
  if (limits.max_step) add("step", seconds_text(*limits.max_step));
  if (limits.max_run) add("run", duration_text(*limits.max_run));
  if (limits.max_price) add("budget", dollars_text(*limits.max_price));
  if (limits.max_power)
    add("power", fmt::format("{} kW", significant_text(limits.max_power->value() / 1e3)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

AnswerFacts space_facts(const PlanReport& report) {
  const SearchResult& r = report.result;
  AnswerFacts facts;
  facts.label_columns = 24;
  for (const auto& [key, values] : axes_of(report.space))
    facts.add(key, fmt::format("{}", fmt::join(values, ", ")));
  if (const std::string limits = limits_words(report.options.limits); !limits.empty())
    facts.add("limits", limits);
  std::string counts =
      fmt::format("{} combinations, {} evaluated, {} feasible", with_thousands(r.combinations),
                  with_thousands(r.evaluated), with_thousands(r.feasible));
  if (report.left_out > 0)
    counts += fmt::format("; {} of the best are beyond a limit by the critical path",
                          with_thousands(report.left_out));
  if (!r.complete()) counts += "; the search was ended early, so better plans may exist";
  facts.add("size", counts);
  return facts;
}

AnswerTable rejected_table(const SearchResult& result) {
  std::vector<std::pair<std::string, Rejection>> rows(result.rejected.begin(),
                                                      result.rejected.end());
  std::ranges::stable_sort(
      rows, [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  AnswerTable table{{number_column("count"), words_column("reason"), words_column("e.g.")}};
  for (const auto& [rule, rejection] : rows)
    table.add({with_thousands(rejection.count), rule, rejection.example});
  return table;
}

/// A column of the table of plans.
struct Column {
  std::string head;
  std::function<std::string(const Finalist&)> cell;
  bool only_if_it_varies = false;
  std::string usual{};  ///< not told where it is the same in all
};

/// Where data and pipeline stand in the order of ranks: "dp-pp".
std::string order_text(const RankOrder& order) {
  const std::string text = rank_order_text(order);
  constexpr std::string_view same = "tp-cp-ep-";
  return text.starts_with(same) ? text.substr(same.size()) : text;
}

std::string recompute_text(const Finalist& plan) {
  return plan.recompute == "selective" ? "sel" : plan.recompute;
}

std::string run_text(const Prediction& p) {
  const auto duration = run_duration(p);
  return duration ? fixed_text(duration->value() / 86400.0, 1) : "";
}

std::string step_text(const Finalist& plan) {
  const double seconds = plan.step.time.value();
  return fixed_text(seconds, seconds < 100.0 ? 3 : 1);
}

std::string price_text(const Prediction& p) {
  return p.cost.price ? "$" + count_text(p.cost.price->value()) : "";
}

std::string gpu_hours_text(const Prediction& p) {
  return p.cost.gpu_hours ? count_text(*p.cost.gpu_hours) : "";
}

std::vector<Column> columns() {
  const auto number = [](std::string head, auto get, bool varies = false) {
    return Column{std::move(head),
                  [get](const Finalist& f) { return std::to_string(get(f.report.scenario.job)); },
                  varies};
  };
  const auto forecast = [](std::string head, auto get) {
    return Column{std::move(head), [get](const Finalist& f) { return get(f.report.prediction); }};
  };
  return {
      number(
          "gpus", [](const Job& j) { return j.cluster.gpus(); }, true),
      number(
          "batch", [](const Job& j) { return j.training.global_batch; }, true),
      number("tp", [](const Job& j) { return j.parallel.tensor; }),
      number("pp", [](const Job& j) { return j.parallel.pipeline; }),
      number(
          "vp", [](const Job& j) { return j.parallel.virtual_stages; }, true),
      number(
          "cp", [](const Job& j) { return j.parallel.context; }, true),
      number(
          "ep", [](const Job& j) { return j.parallel.expert; }, true),
      number("dp", [](const Job& j) { return j.parallel.data; }),
      {"order", [](const Finalist& f) { return order_text(f.report.scenario.job.parallel.order); },
       true, order_text(data_in_stage)},
      number(
          "zero", [](const Job& j) { return j.parallel.zero; }, true),
      number("mbs", [](const Job& j) { return j.training.micro_batch; }),
      {"rec", recompute_text},
      {"offload",
       [](const Finalist& f) { return std::string(name_of(f.report.scenario.job.memory.offload)); },
       true, std::string(name_of(OffloadKind::none))},
      {"schedule",
       [](const Finalist& f) {
         return std::string(name_of(f.report.scenario.job.parallel.schedule));
       }},
      {"step s", step_text},
      {"MFU%", [](const Finalist& f) { return fixed_text(100.0 * f.efficiency.mfu, 1); }},
      {"GiB", [](const Finalist& f) { return fixed_text(f.scored.peak.in(GiB), 1); }},
      forecast("days", run_text),
      forecast("cost", price_text),
      forecast("GPUh", gpu_hours_text)};
}

/// Columns of equally many cells, the head first, as a table that gives way on a narrow screen.
AnswerTable tight_table(const std::vector<std::vector<std::string>>& columns) {
  AnswerTable table;
  table.layout.apart = 1;
  for (const auto& column : columns) table.columns.push_back(number_column(column.front()));
  for (std::size_t row = 1; row < columns.front().size(); ++row) {
    std::vector<AnswerCell> cells;
    for (const auto& column : columns) cells.emplace_back(column[row]);
    table.add(std::move(cells));
  }
  return table;
}

/// The plans as a table; what is the same in all of them is told once.
AnswerSection plans_section(std::string title, const Plans& plans) {
  std::vector<std::vector<std::string>> shown{{"#"}};
  for (std::size_t i = 0; i < plans.size(); ++i) shown[0].push_back(std::to_string(i + 1));
  std::string same;
  for (const Column& column : columns()) {
    std::vector<std::string> cells{column.head};
    for (const Finalist& plan : plans) cells.push_back(column.cell(plan));
    const bool varies =
        std::any_of(cells.begin() + 1, cells.end(), [&](const auto& c) { return c != cells[1]; });
    if (column.only_if_it_varies && !varies && cells[1] == column.usual) continue;
    if (column.only_if_it_varies && !varies)
      same += (same.empty() ? "" : ", ") + column.head + " " + cells[1];
    else if (varies || !cells[1].empty())
      shown.push_back(std::move(cells));
  }
  AnswerSection section{std::move(title), {tight_table(shown)}};
  if (!same.empty()) section.blocks.emplace_back(AnswerLine{"Same in all: " + same + "."});
  return section;
}

std::string sets_text(const std::vector<std::string>& settings) {
  return settings.empty() ? "the scenario as it is" : set_words(settings);
}

AnswerLine why_line(const Plans& plans) {
  if (plans.size() < 2) return {};
  return {fmt::format("It sets {}. {}", differing_settings(plans[0].settings, plans[1].settings),
                      difference_sentences(plans[0].report, plans[1].report))};
}

/// Every plan's waterfall in seconds, side by side; parts that are zero in all are left out.
AnswerTable waterfalls_table(const Plans& plans) {
  std::vector<std::vector<WaterfallPart>> ways;
  for (const Finalist& plan : plans)
    ways.push_back(whole_waterfall(plan.report.scenario.job, plan.report.prediction));
  AnswerTable table{{words_column("plan")}};
  table.layout.apart = 1;
  for (std::size_t plan = 0; plan < plans.size(); ++plan)
    table.columns.push_back(number_column(std::to_string(plan + 1)));
  for (std::size_t part = 0; part < ways.front().size(); ++part) {
    if (std::ranges::all_of(ways, [&](const auto& way) { return way[part].time == Seconds{}; }))
      continue;
    std::vector<AnswerCell> row{ways.front()[part].label};
    for (const auto& way : ways) row.emplace_back(fixed_text(way[part].time.value(), 3));
    table.add(std::move(row));
  }
  std::vector<AnswerCell> steps{"= step"};
  for (const Finalist& plan : plans) steps.emplace_back(fixed_text(plan.step.time.value(), 3));
  table.add(std::move(steps));
  return table;
}

/// Where the plan that was asked about stands.
AnswerSection standing_section(const PlanReport& report) {
  const Standing& standing = *report.standing;
  const Prediction& own = standing.report.prediction;
  AnswerSection section{"Rank of your plan", {AnswerCode{sets_text(standing.settings)}}};
  const auto say = [&](const std::string& text) { section.blocks.emplace_back(AnswerLine{text}); };
  if (!own.step) {
    for (const Infeasible& reason : own.reasons) say("It cannot run: " + reason.message + ".");
    return section;
  }
  say(!standing.rank
          ? "It is beyond the limits, so it has no place among these plans."
          : fmt::format("{}{} of {} feasible plans by {}, in closed form: {} come before it.",
                        report.result.complete() ? "Place " : "So far place ",
                        with_thousands(*standing.rank), with_thousands(report.result.feasible),
                        name_of(report.options.by), with_thousands(*standing.rank - 1)));
  if (report.plans.empty()) return section;
  const Finalist& winner = report.plans.front();
  const double gap = gap_of_standing(report).value_or(0.0);
  say(fmt::format("By the critical path its step is {}, that of plan 1 {}: {:.2f} % {} by {}.",
                  seconds_text(own.step->time), seconds_text(winner.step.time),
                  100.0 * std::abs(gap), gap < 0.0 ? "better" : "worse",
                  name_of(report.options.by)));
  say("Plan 1 against it: " + difference_sentences(winner.report, standing.report));
  const auto conditions = conditions_of_gain(winner.report, standing.report);
  if (gap <= least_gain_to_explain || conditions.empty()) return section;
  say("Plan 1's lead depends on:");
  section.blocks.emplace_back(AnswerList{conditions});
  return section;
}

AnswerSection nearest_section(const PlanReport& report) {
  AnswerSection section;
  const auto say = [&](const std::string& text) { section.blocks.emplace_back(AnswerLine{text}); };
  if (!report.nearest) {
    if (report.result.complete())
      say("No combination is a legal plan that this version can time: see what was rejected, and "
          "list other values.");
    return section;
  }
  const ForecastPlan& nearest = *report.nearest;
  const Excess& excess = report.result.nearest->excess;
  const Device& device = nearest.report.scenario.job.cluster.host.device;
  const Bytes limit = report.options.limits.memory_of(device);
  if (nearest.scored.peak > limit)
    say(fmt::format("The nearest plan needs {} of {}{}: {} are missing.",
                    bytes_text(nearest.scored.peak), bytes_text(limit),
                    limit < device.usable_memory ? " allowed" : "",
                    bytes_text(nearest.scored.peak - limit)));
  else
    say(fmt::format("The nearest plan that fits into memory breaks {}: {}.{}", excess.rule,
                    excess.message,
                    std::isfinite(excess.ratio)
                        ? fmt::format(" It needs {} less.", percent_text(1.0 - 1.0 / excess.ratio))
                        : ""));
  if (excess.rule == "headroom" && report.options.limits.default_room())
    say("--max-memory-share 1 tries plans that use all of the memory.");
  section.blocks.emplace_back(AnswerCode{sets_text(nearest.settings)});
  AnswerFacts helps;
  for (const Infeasible& reason : nearest.report.prediction.reasons)
    if (!reason.remedy.empty()) helps.add("what helps", reason.remedy);
  section.blocks.emplace_back(std::move(helps));
  return section;
}

/// The first plans of the list with their bands: what is chosen between.
AnswerTable alternatives_table(const Plans& plans) {
  AnswerTable table{{number_column("#"), number_column("step"), words_column("band"),
                     number_column("time to train"), number_column("cost"), words_column("plan")}};
  for (std::size_t i = 0; i < std::min<std::size_t>(3, plans.size()); ++i) {
    const Prediction& p = plans[i].report.prediction;
    const StepForecast& step = plans[i].step;
    const auto run = run_duration(p);
    table.add({std::to_string(i + 1), seconds_text(step.time),
               seconds_text(step.low) + " to " + seconds_text(step.high),
               run ? duration_text(*run) : "-",
               p.cost.gpu_hours ? cost_range_text(p.cost) : "unknown",
               axis_words(plans[i].report.scenario.job.parallel) +
                   fmt::format(" mbs {}", plans[i].report.scenario.job.training.micro_batch)});
  }
  return table;
}

void add_chart(Answer& answer, const std::string& title, const std::optional<Scene>& chart) {
  if (chart) answer.add(title, AnswerPicture{*chart, title}, AnswerPlace::pages);
}

}  // namespace

Answer plan_answer(const PlanReport& report, PlanBars bars, const std::string& source) {
  Answer answer{plan_head(report, source)};
  const Plans& plans = report.plans;
  if (plans.empty()) {
    answer.add(nearest_section(report));
  } else {
    if (plans.size() > 1) {
      answer.add("Alternatives", alternatives_table(plans), AnswerPlace::pages);
      answer.add("What plan 1's lead depends on",
                 AnswerList{conditions_of_gain(plans[0].report, plans[1].report)},
                 AnswerPlace::pages);
    }
    AnswerSection sources = sources_section(plans.front().report.prediction);
    sources.place = AnswerPlace::pages;
    answer.add(std::move(sources));
    const std::size_t played = std::min(report.options.on_fabric, plans.size());
    const std::string fabric =
        played > 0 ? fmt::format(", the first {} simulated on their fabric", played) : "";
    answer.add(plans_section(fmt::format("Best {} by {}, forecast by the critical path{}",
                                         plans.size(), name_of(report.options.by), fabric),
                             plans));
    add_chart(answer, "Step time against memory", plans_chart(report, picture_space({})));
    const std::size_t drawn = bars == PlanBars::all ? plans.size() : 1;
    for (std::size_t i = 0; i < drawn; ++i) {
      answer.add(fmt::format("Plan {}", i + 1), AnswerCode{sets_text(plans[i].settings)});
      answer.add("Where its step goes",
                 waterfall_table(plans[i].report.scenario.job, plans[i].report.prediction));
    }
    if (plans.size() > 1) answer.add("Where the steps go, seconds", waterfalls_table(plans));
    answer.add("Why plan 1 beats plan 2", why_line(plans));
  }
  if (report.standing) answer.add(standing_section(report));
  if (!report.pareto.empty())
    answer.add(plans_section("Pareto front: no plan beats these in both time and cost, closed form",
                             report.pareto));
  add_chart(answer, "Machines: time against GPU-hours",
            machines_chart(report.pareto, picture_space({})));
  answer.add("Space", space_facts(report));
  answer.add("Rejected, by the first rule broken", rejected_table(report.result));
  return answer;
}

}  // namespace foretrain
