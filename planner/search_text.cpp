// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "planner/format.hpp"
#include "planner/report_text.hpp"
#include "planner/search_report.hpp"
#include "planner/summary.hpp"
#include "planner/version.hpp"
#include "planner/waterfall.hpp"

namespace foretrain {
namespace {

using Plans = std::vector<Finalist>;

std::string section(const std::string& title, const TextStyle& style) {
  return "\n" + toned(title, Tone::strong, style) + "\n";
}

std::string space_text(const PlanReport& report, const TextStyle& style) {
  const SearchResult& r = report.result;
  std::string text = section("Space", style);
  for (const auto& [key, values] : axes_of(report.space))
    text += labelled(key, fmt::format("{}", fmt::join(values, ", ")), style, 24);
  std::string counts =
      fmt::format("{} combinations, {} evaluated, {} feasible", with_thousands(r.combinations),
                  with_thousands(r.evaluated), with_thousands(r.feasible));
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
};

std::string recompute_text(const Finalist& plan) {
  return plan.recompute == "selective" ? "sel" : plan.recompute;
}

std::string run_text(const Prediction& p) {
  const auto& duration = p.run.expected ? p.run.expected : p.run.ideal;
  return duration ? fixed_text(duration->value() / 86400.0, 1) : "";
}

std::string step_text(const Prediction& p) {
  const double seconds = p.step->time.value();
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
  return {number(
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
          number(
              "zero", [](const Job& j) { return j.parallel.zero; }, true),
          number("mbs", [](const Job& j) { return j.training.micro_batch; }),
          {"rec", recompute_text},
          {"schedule",
           [](const Finalist& f) {
             return std::string(name_of(f.report.scenario.job.parallel.schedule));
           }},
          forecast("step s", step_text),
          forecast("MFU%",
                   [](const Prediction& p) { return fixed_text(100.0 * p.efficiency->mfu, 1); }),
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
    if (column.only_if_it_varies && !varies)
      same += (same.empty() ? "" : ", ") + column.head + " " + cells[1];
    else if (varies || !cells[1].empty())
      shown.push_back(std::move(cells));
  }
  std::string text = table_text(std::move(shown), style);
  if (!same.empty()) text += hanging("  ", "The same in all: " + same + ".", style);
  return text;
}

std::string differing_settings(const Finalist& winner, const Finalist& other) {
  std::string text;
  for (const std::string& setting : winner.settings) {
    const std::string key = setting.substr(0, setting.find('=') + 1);
    const auto& theirs = other.settings;
    const auto match = std::find_if(theirs.begin(), theirs.end(),
                                    [&](const auto& s) { return s.starts_with(key); });
    const std::string value = match == theirs.end() ? "as given" : match->substr(key.size());
    if (setting.substr(key.size()) == value) continue;
    text += fmt::format("{}{} instead of {}", text.empty() ? "" : ", ", setting, value);
  }
  return text;
}

struct PartDifference {
  std::string label;
  double seconds;  ///< runner-up less winner, over the sequences of the winner's step
};

/// Where the runner-up loses time (or gains it: negative), the most first.
std::vector<PartDifference> part_differences(const Report& winner, const Report& other) {
  const auto ours = whole_waterfall(winner.scenario.job, winner.prediction);
  const auto theirs = whole_waterfall(other.scenario.job, other.prediction);
  const double scale = static_cast<double>(winner.scenario.job.training.global_batch) /
                       other.scenario.job.training.global_batch;
  std::vector<PartDifference> parts;
  for (std::size_t i = 0; i < ours.size(); ++i)
    parts.push_back({ours[i].label, theirs[i].time.value() * scale - ours[i].time.value()});
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return std::abs(a.seconds) > std::abs(b.seconds);
  });
  return parts;
}

std::string why_text(const Plans& plans, const TextStyle& style) {
  if (plans.size() < 2) return "";
  const Report& winner = plans[0].report;
  const Report& other = plans[1].report;
  const double step = winner.prediction.step->time.value();
  std::string gains;
  std::string losses;
  double total = 0.0;
  int told = 0;
  for (const PartDifference& part : part_differences(winner, other)) {
    total += part.seconds;
    if (std::abs(part.seconds) < 1e-5 * step || ++told > 5) continue;
    std::string& list = part.seconds > 0.0 ? gains : losses;
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", part.label,
                        seconds_text(Seconds{std::abs(part.seconds)}));
  }
  std::string text = fmt::format(
      "It sets {}. Its step is {} ({}) {} for the same sequences.",
      differing_settings(plans[0], plans[1]), seconds_text(Seconds{std::abs(total)}),
      fmt::format("{:.2f} %", 100.0 * std::abs(total) / step), total < 0.0 ? "longer" : "shorter");
  if (!gains.empty()) text += " It saves " + gains + ".";
  if (!losses.empty()) text += " It pays " + losses + ".";
  return section("Why 1 comes before 2", style) + hanging("  ", text, style);
}

std::string winner_text(const Finalist& winner, const TextStyle& style) {
  const Report& report = winner.report;
  std::string text = section("Plan 1", style);
  text += hanging("  ", "--set " + fmt::format("{}", fmt::join(winner.settings, " --set ")), style);
  text += section("Where its step goes", style);
  return text + waterfall_text(report.scenario.job, report.prediction, style);
}

std::string nearest_text(const PlanReport& report, const TextStyle& style) {
  std::string text =
      "\n" +
      toned(report.result.complete() ? "NOTHING FITS" : "NOTHING FOUND SO FAR", Tone::bad, style) +
      "\n";
  if (!report.nearest)
    return text + hanging("  ",
                          "No combination is a legal plan that this version can time: see what was "
                          "rejected, and list other values.",
                          style);
  const Finalist& nearest = *report.nearest;
  const Bytes usable = nearest.report.scenario.job.cluster.host.device.usable_memory;
  const Bytes limit = usable * report.options.max_memory_share;
  if (nearest.scored.peak > limit)
    text += hanging("  ",
                    fmt::format("The nearest plan needs {} of {}{}: {} are missing.",
                                bytes_text(nearest.scored.peak), bytes_text(limit),
                                report.options.max_memory_share < 1.0 ? " allowed" : "",
                                bytes_text(nearest.scored.peak - limit)),
                    style);
  else
    text += hanging("  ",
                    fmt::format("The fastest plan that fits takes {} per step; {} are allowed.",
                                seconds_text(nearest.scored.step),
                                seconds_text(report.options.max_step.value())),
                    style);
  text +=
      hanging("  ", "--set " + fmt::format("{}", fmt::join(nearest.settings, " --set ")), style);
  for (const Infeasible& reason : nearest.report.prediction.reasons)
    if (!reason.remedy.empty()) text += labelled("what helps", reason.remedy, style);
  return text;
}

}  // namespace

std::string plan_text(const PlanReport& report, const TextStyle& style) {
  std::string text =
      toned(report.scenario.job.name, Tone::strong, style) +
      fmt::format(": plans by {} (foretrain {})\n", name_of(report.options.by), version);
  text += space_text(report, style) + rejected_text(report.result, style);
  if (report.plans.empty()) return text + nearest_text(report, style);
  text += section(fmt::format("Best {} by {}, forecast by the longest path", report.plans.size(),
                              name_of(report.options.by)),
                  style);
  text += plans_text(report.plans, style);
  text += winner_text(report.plans.front(), style) + why_text(report.plans, style);
  if (!report.pareto.empty())
    text += section("Faster or cheaper: no plan beats these in both, closed form", style) +
            plans_text(report.pareto, style);
  return text;
}

}  // namespace foretrain
