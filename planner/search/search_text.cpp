// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "planner/forecast/plan_difference.hpp"
#include "planner/forecast/report_text.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/search/search_report.hpp"
#include "planner/text/format.hpp"
#include "scenarios/sections/rank_order_text.hpp"

namespace foretrain {
namespace {

using Plans = std::vector<Finalist>;

constexpr double least_gain_to_explain = 0.1;

std::string section(const std::string& title, const TextStyle& style) {
  return "\n" + toned(title, Tone::strong, style) + "\n";
}

std::string limits_text(const SearchLimits& limits, const TextStyle& style) {
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
  if (parts.empty()) return "";
  return labelled("limits", fmt::format("{}", fmt::join(parts, ", ")), style, 24);
}

std::string space_text(const PlanReport& report, const TextStyle& style) {
  const SearchResult& r = report.result;
  std::string text = section("Space", style);
  for (const auto& [key, values] : axes_of(report.space))
    text += labelled(key, fmt::format("{}", fmt::join(values, ", ")), style, 24);
  text += limits_text(report.options.limits, style);
  std::string counts =
      fmt::format("{} combinations, {} evaluated, {} feasible", with_thousands(r.combinations),
                  with_thousands(r.evaluated), with_thousands(r.feasible));
  if (report.left_out > 0)
    counts += fmt::format("; {} of the best are beyond a limit by the critical path",
                          with_thousands(report.left_out));
  if (!r.complete()) counts += "; the search was ended early, so better plans may exist";
  text += labelled("size", counts, style, 24);
  return text;
}

std::string rejected_text(const SearchResult& result, const TextStyle& style) {
  if (result.rejected.empty()) return "";
  std::vector<std::pair<std::string, Rejection>> rows(result.rejected.begin(),
                                                      result.rejected.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  using Align = TextTable::Align;
  TextTable table{{Align::right, Align::left, Align::left}};
  table.add({"count", "reason", "e.g."});
  for (const auto& [rule, rejection] : rows)
    table.add({with_thousands(rejection.count), rule, rejection.example});
  return section("Rejected, by the first rule broken", style) + table.text(style);
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

/// Where nobody gave a price.
std::string gpu_hours_text(const Prediction& p) {
  return p.cost.gpu_hours && !p.cost.price ? count_text(*p.cost.gpu_hours) : "";
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

int table_width(const std::vector<std::vector<std::string>>& columns) {
  int width = 2;
  for (const auto& column : columns) {
    std::size_t widest = 0;
    for (const std::string& cell : column) widest = std::max(widest, cell.size());
    width += 1 + static_cast<int>(widest);
  }
  return width;
}

/// Right-aligned columns one blank apart; the last ones go where there is no room for them.
std::string table_text(std::vector<std::vector<std::string>> columns, const TextStyle& style) {
  while (table_width(columns) > style.width) columns.pop_back();
  std::string text;
  for (std::size_t row = 0; row < columns.front().size(); ++row) {
    std::string line = " ";
    for (const auto& column : columns) {
      std::size_t widest = 0;
      for (const std::string& cell : column) widest = std::max(widest, cell.size());
      line += " " + pad_left(column[row], static_cast<int>(widest));
    }
    text += line + "\n";
  }
  return text;
}

/// The plans as a table; what is the same in all of them is told once.
std::string plans_text(const Plans& plans, const TextStyle& style) {
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
  std::string text = table_text(std::move(shown), style);
  if (!same.empty()) text += hanging("  ", "Same in all: " + same + ".", style);
  return text;
}

std::string sets_text(const std::vector<std::string>& settings) {
  return settings.empty() ? "the scenario as it is"
                          : fmt::format("--set {}", fmt::join(settings, " --set "));
}

std::string why_text(const Plans& plans, const TextStyle& style) {
  if (plans.size() < 2) return "";
  return section("Why plan 1 beats plan 2", style) +
         hanging(
             "  ",
             fmt::format("It sets {}. {}", differing_settings(plans[0].settings, plans[1].settings),
                         difference_sentences(plans[0].report, plans[1].report)),
             style);
}

std::string bars_text(const Finalist& plan, std::size_t number, const TextStyle& style) {
  const Report& report = plan.report;
  return section(fmt::format("Plan {}", number), style) +
         hanging("  ", sets_text(plan.settings), style) + section("Where its step goes", style) +
         waterfall_text(report.scenario.job, report.prediction, style);
}

/// Every plan's waterfall in seconds, side by side; parts that are zero in all are left out.
std::string waterfalls_text(const Plans& plans, const TextStyle& style) {
  constexpr int label_columns = 22;
  std::vector<std::vector<WaterfallPart>> ways;
  for (const Finalist& plan : plans)
    ways.push_back(whole_waterfall(plan.report.scenario.job, plan.report.prediction));
  std::vector<std::vector<std::string>> columns(1);
  columns[0].push_back(pad_right("plan", label_columns));
  std::vector<std::size_t> shown;
  for (std::size_t part = 0; part < ways.front().size(); ++part)
    if (std::any_of(ways.begin(), ways.end(),
                    [&](const auto& way) { return way[part].time != Seconds{}; }))
      shown.push_back(part);
  for (const std::size_t part : shown)
    columns[0].push_back(pad_right(ways.front()[part].label, label_columns));
  columns[0].push_back(pad_right("= step", label_columns));
  for (std::size_t plan = 0; plan < ways.size(); ++plan) {
    std::vector<std::string> column{std::to_string(plan + 1)};
    for (const std::size_t part : shown)
      column.push_back(fixed_text(ways[plan][part].time.value(), 3));
    column.push_back(fixed_text(plans[plan].step.time.value(), 3));
    columns.push_back(std::move(column));
  }
  return section("Where the steps go, seconds", style) + table_text(std::move(columns), style);
}

/// Where the plan that was asked about stands.
std::string standing_text(const PlanReport& report, const TextStyle& style) {
  const Standing& standing = *report.standing;
  const Prediction& own = standing.report.prediction;
  std::string text =
      section("Rank of your plan", style) + hanging("  ", sets_text(standing.settings), style);
  if (!own.step) {
    for (const Infeasible& reason : own.reasons)
      text += hanging("  ", "It cannot run: " + reason.message + ".", style);
    return text;
  }
  if (!standing.rank)
    text += hanging("  ", "It is beyond the limits, so it has no place among these plans.", style);
  else
    text +=
        hanging("  ",
                fmt::format("{}{} of {} feasible plans by {}, in closed form: {} come before "
                            "it.",
                            report.result.complete() ? "Place " : "So far place ",
                            with_thousands(*standing.rank), with_thousands(report.result.feasible),
                            name_of(report.options.by), with_thousands(*standing.rank - 1)),
                style);
  if (report.plans.empty()) return text;
  const Finalist& winner = report.plans.front();
  const double gap = gap_of_standing(report).value_or(0.0);
  text += hanging(
      "  ",
      fmt::format("By the critical path its step is {}, that of plan 1 {}: {:.2f} % {} by {}.",
                  seconds_text(own.step->time), seconds_text(winner.step.time),
                  100.0 * std::abs(gap), gap < 0.0 ? "better" : "worse",
                  name_of(report.options.by)),
      style);
  text += hanging(
      "  ", "Plan 1 against it: " + difference_sentences(winner.report, standing.report), style);
  const auto conditions = conditions_of_gain(winner.report, standing.report);
  if (gap <= least_gain_to_explain || conditions.empty()) return text;
  text += hanging("  ", "Plan 1's lead depends on:", style);
  for (const std::string& condition : conditions) text += hanging("  - ", condition, style);
  return text;
}

std::string nearest_text(const PlanReport& report, const TextStyle& style) {
  std::string text = "\n";
  if (!report.nearest)
    return text + hanging("  ",
                          "No combination is a legal plan that this version can time: see what was "
                          "rejected, and list other values.",
                          style);
  const ForecastPlan& nearest = *report.nearest;
  const Excess& excess = report.result.nearest->excess;
  const Device& device = nearest.report.scenario.job.cluster.host.device;
  const Bytes limit = report.options.limits.memory_of(device);
  if (nearest.scored.peak > limit)
    text += hanging("  ",
                    fmt::format("The nearest plan needs {} of {}{}: {} are missing.",
                                bytes_text(nearest.scored.peak), bytes_text(limit),
                                limit < device.usable_memory ? " allowed" : "",
                                bytes_text(nearest.scored.peak - limit)),
                    style);
  else
    text += hanging(
        "  ",
        fmt::format("The nearest plan that fits into memory breaks {}: {}.{}", excess.rule,
                    excess.message,
                    std::isfinite(excess.ratio)
                        ? fmt::format(" It needs {} less.", percent_text(1.0 - 1.0 / excess.ratio))
                        : ""),
        style);
  if (excess.rule == "headroom" && report.options.limits.default_room())
    text += hanging("  ", "--max-memory-share 1 tries plans that use all of the memory.", style);
  text += hanging("  ", sets_text(nearest.settings), style);
  for (const Infeasible& reason : nearest.report.prediction.reasons)
    if (!reason.remedy.empty()) text += labelled("what helps", reason.remedy, style);
  return text;
}

}  // namespace

std::string plan_text(const PlanReport& report, const TextStyle& style, PlanBars bars,
                      const std::string& source) {
  std::string text = head_text(plan_head(report, source), style);
  const std::string space = space_text(report, style) + rejected_text(report.result, style);
  if (report.plans.empty()) {
    text += nearest_text(report, style);
    if (report.standing) text += standing_text(report, style);
    return text + space;
  }
  const std::size_t played = std::min(report.options.on_fabric, report.plans.size());
  const std::string fabric =
      played > 0 ? fmt::format(", the first {} simulated on their fabric", played) : "";
  text += section(fmt::format("Best {} by {}, forecast by the critical path{}", report.plans.size(),
                              name_of(report.options.by), fabric),
                  style);
  text += plans_text(report.plans, style);
  const std::size_t drawn = bars == PlanBars::all ? report.plans.size() : 1;
  for (std::size_t i = 0; i < drawn; ++i) text += bars_text(report.plans[i], i + 1, style);
  if (report.plans.size() > 1) text += waterfalls_text(report.plans, style);
  text += why_text(report.plans, style);
  if (report.standing) text += standing_text(report, style);
  if (!report.pareto.empty())
    text += section("Pareto front: no plan beats these in both time and cost, closed form", style) +
            plans_text(report.pareto, style);
  return text + space;
}

}  // namespace foretrain
