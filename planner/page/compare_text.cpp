// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "planner/explain/catalog_text.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/page/compare.hpp"
#include "planner/text/format.hpp"
#include "scenarios/yaml/safe_text.hpp"

namespace foretrain {
namespace {

using Align = TextTable::Align;

constexpr std::size_t few_catalog_values = 6;
constexpr std::size_t most_rows = 8;
constexpr double least_share = 0.0005;  // of the first side's step: below it a part has no line

std::string section(const std::string& title, const TextStyle& style) {
  return "\n" + hanging("", toned(title, Tone::strong, style), style);
}

std::string overrides_text(const Scenario& scenario) {
  std::string result;
  for (const ResolvedValue& value : scenario.values)
    if (value.origin == "--set")
      result += fmt::format("{}--set {}={}", result.empty() ? "" : " ", value.path, value.value);
  return result;
}

std::string sides_text(const Comparison& c, const TextStyle& style) {
  std::string result;
  for (std::size_t side = 0; side < c.reports.size(); ++side) {
    const Report& report = c.reports[side];
    const Prediction& p = report.prediction;
    const std::string verdict = toned(verdict_words(p), tone_of(run_verdict(p)), style);
    const std::string head = "  " + toned(side_name(side), Tone::strong, style) + "  ";
    const int room = style.width - display_width(head) - display_width(verdict) - 2;
    result += fmt::format("{}{}: {}\n", head, cut(report.scenario.job.name, room), verdict);
    if (!report.scenario.path.empty())
      result += fmt::format("     {}\n", cut(escaped(report.scenario.path), style.width - 5));
    if (const std::string changed = overrides_text(report.scenario); !changed.empty())
      result += hanging("     ", changed, style);
    for (const Infeasible& reason : report.prediction.reasons) {
      result += hanging("     ", reason.message, style);
      if (!reason.remedy.empty()) result += hanging("     ", "what helps: " + reason.remedy, style);
    }
  }
  return result;
}

/// All sides, or the first one and as many of the others as fit beside it.
std::string figures_block(const Comparison& c, std::size_t first, std::size_t count,
                          const TextStyle& style) {
  const bool pair = c.reports.size() == 2;
  std::vector<Align> columns{Align::left, Align::right};
  std::vector<std::string> head{"", "A"};
  for (std::size_t side = first; side < first + count; ++side) {
    head.push_back(side_name(side));
    if (pair) head.push_back(side_name(side) + " - A");
    head.push_back(side_name(side) + " / A");
    columns.insert(columns.end(), pair ? 3 : 2, Align::right);
  }
  TextTable table{columns};
  table.add(head);
  for (const ComparedFigure& figure : c.figures) {
    std::vector<std::string> row{figure.label, figure.text(0)};
    for (std::size_t side = first; side < first + count; ++side) {
      row.push_back(figure.text(side));
      if (pair) row.push_back(figure.difference(side));
      row.push_back(figure.ratio(side));
    }
    table.add(row);
  }
  return table.text(style);
}

std::string figures_text(const Comparison& c, const TextStyle& style) {
  constexpr int before = 40;  // columns of the labels and the first side
  constexpr int each = 24;    // of another side with its ratio
  const auto fit = static_cast<std::size_t>(std::max(1, (style.width - before) / each));
  std::string result = section("Headline", style);
  for (std::size_t side = 1; side < c.reports.size(); side += fit) {
    if (side > 1) result += "\n";
    result += figures_block(c, side, std::min(fit, c.reports.size() - side), style);
  }
  return result;
}

std::string signed_text(Seconds time) {
  if (time == Seconds{}) return "0";
  return (time < Seconds{} ? "-" : "+") + seconds_text(time < Seconds{} ? -time : time);
}

struct StepChange {
  std::string label;
  Seconds time;
};

/// The parts that changed; what is too small for a line of its own is summed into one.
std::vector<StepChange> step_changes(const Comparison& c, std::size_t side, Seconds from) {
  std::vector<StepChange> changes;
  Seconds small;
  for (const ComparedPart& part : c.parts) {
    const Seconds change = *part.times[side] - *part.times[0];
    if (std::abs(change / from) < least_share)
      small += change;
    else
      changes.push_back({part.label, change});
  }
  if (std::abs(small / from) >= least_share) changes.push_back({"other parts", small});
  return changes;
}

/// Left edge of the bars, so that small changes of a long step still show.
double bar_floor(const std::vector<StepChange>& changes, Seconds from) {
  Seconds least = from;
  Seconds most = from;
  Seconds at = from;
  for (const StepChange& change : changes) {
    at += change.time;
    least = min(least, at);
    most = max(most, at);
  }
  const double floor = least.value() - 0.5 * (most - least).value();
  return floor < 0.3 * least.value() ? 0.0 : floor;
}

std::string step_text(const Comparison& c, std::size_t side, const TextStyle& style) {
  const auto& first = c.reports.front().prediction.step;
  const auto& other = c.reports[side].prediction.step;
  if (!first || !other || c.parts.empty()) return "";
  const auto changes = step_changes(c, side, first->time);
  double most = std::max(first->time.value(), other->time.value());
  Seconds at = first->time;
  for (const StepChange& change : changes) most = std::max(most, (at += change.time).value());
  const double floor = bar_floor(changes, first->time);
  const auto place = [&](Seconds time) { return (time.value() - floor) / (most - floor); };
  constexpr int label_columns = 24;
  const int cells = style.width - label_columns - 26;
  std::string result;
  const auto line = [&](const std::string& label, const std::string& time, Seconds change,
                        double from, double to) {
    const Tone tone = change == Seconds{}  ? Tone::plain
                      : change < Seconds{} ? Tone::good
                                           : Tone::bad;
    const std::string share =
        change == Seconds{}
            ? ""
            : (change < Seconds{} ? "-" : "+") + percent_text(std::abs(change / first->time));
    std::string text = "  " + pad_right(label, label_columns) + pad_left(time, 10) +
                       pad_left(share, 9) + "  " +
                       toned(span_bar(from, to, cells, style), tone, style);
    result += text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
  };
  line("A", seconds_text(first->time), Seconds{}, 0.0, place(first->time));
  at = first->time;
  for (const StepChange& change : changes) {
    line(change.label, signed_text(change.time), change.time, place(at), place(at + change.time));
    at += change.time;
  }
  line("= " + side_name(side), seconds_text(other->time), other->time - first->time, 0.0,
       place(other->time));
  if (floor > 0.0)
    result += hanging("  ", "Bars start at " + seconds_text(Seconds{floor}) + ".", style);
  return section("What changed in the step, from A to " + side_name(side), style) + result;
}

void add_setting(const Comparison& c, const ComparedSetting& setting, TextTable& table) {
  bool head = true;
  for (std::size_t side = 0; side < setting.values.size(); ++side) {
    const auto& value = setting.values[side];
    table.add({head ? setting.path : "", side_name(side), value ? value->value : "-",
               value ? short_origin(c.reports[side].scenario, value->origin) : ""});
    head = false;
  }
}

std::string settings_text(const Comparison& c, CatalogValues catalog, const TextStyle& style) {
  const auto from_catalogs = static_cast<std::size_t>(
      std::count_if(c.settings.begin(), c.settings.end(), [](const auto& s) { return s.catalog; }));
  const bool all = catalog == CatalogValues::listed || from_catalogs <= few_catalog_values;
  std::string result = section("Settings that differ", style);
  if (c.settings.empty()) return result + "  none\n";
  TextTable table{{Align::left, Align::left, Align::left, Align::left}};
  for (const ComparedSetting& setting : c.settings)
    if (all || !setting.catalog) add_setting(c, setting, table);
  result += table.text(style);
  if (!all)
    result += hanging("  ",
                      fmt::format("and {} values that come with the catalog entries; --all lists "
                                  "them",
                                  from_catalogs),
                      style);
  return result;
}

std::string size_text(const std::optional<Bytes>& size) { return size ? bytes_text(*size) : "-"; }

/// The rows for `count` sides from `first` on.
std::string rows_block(const Comparison& c, std::size_t first, std::size_t count, int name_columns,
                       const TextStyle& style) {
  std::vector<Align> columns(count + 1, Align::right);
  columns.front() = Align::left;
  TextTable table{columns};
  std::vector<std::string> head{""};
  for (std::size_t side = first; side < first + count; ++side) {
    const auto& memory = c.reports[side].prediction.memory;
    head.push_back(memory ? fmt::format("{} (stage {})", side_name(side), memory->peak_stage)
                          : side_name(side));
  }
  table.add(head);
  const std::size_t shown = std::min(c.rows.size(), most_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    std::vector<std::string> row{cut(c.rows[i].category + ": " + c.rows[i].name, name_columns)};
    for (std::size_t side = first; side < first + count; ++side)
      row.push_back(size_text(c.rows[i].sizes[side]));
    table.add(row);
  }
  return table.text(style);
}

std::string rows_text(const Comparison& c, const TextStyle& style) {
  if (c.rows.empty()) return "";
  constexpr int column = 14;  // of one side
  constexpr int least_name = 30;
  const int most = std::max(1, (style.width - 4 - least_name) / column);
  const std::size_t fit = std::min(static_cast<std::size_t>(most), c.reports.size());
  const int name_columns = style.width - 4 - column * static_cast<int>(fit);
  std::string result = section("Memory of the heaviest stage, rows that differ most", style);
  for (std::size_t side = 0; side < c.reports.size(); side += fit) {
    if (side > 0) result += "\n";
    result += rows_block(c, side, std::min(fit, c.reports.size() - side), name_columns, style);
  }
  return result;
}

}  // namespace

std::string comparison_text(const Comparison& comparison, CatalogValues catalog,
                            const TextStyle& style) {
  std::string result = head_text(comparison_head(comparison), style) + "\n";
  result += sides_text(comparison, style);
  result += figures_text(comparison, style);
  for (std::size_t side = 1; side < comparison.reports.size(); ++side)
    result += step_text(comparison, side, style);
  result += settings_text(comparison, catalog, style);
  return result + rows_text(comparison, style);
}

}  // namespace foretrain
