// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "planner/evidence/internal/summary_json.hpp"
#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/evidence/left_out.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"

namespace foretrain {
namespace {

using Align = TextTable::Align;
using Cells = std::vector<std::string>;

constexpr const char* columns_note =
    "First MAPE and median: with the shipped profiles. Then, with profiles fitted without the "
    "fold: bias, MAPE, median and 90th percentile. Where a fold holds all runs of a framework, "
    "nothing is left to fit its stack on, and the stack is its prior.";
constexpr const char* parts_note =
    "Parts are other machines or models of one source; in these totals they are left out one by "
    "one in place of their whole source.";

const CheckSummary* find(const std::vector<CheckSummary>& lines, const CheckSummary& like) {
  for (const CheckSummary& line : lines)
    if (line.source == like.source && line.group == like.group) return &line;
  return nullptr;
}

/// Name, runs, errors with the profiles fitted on all, and without the source.
Cells row(const std::string& name, const CheckSummary* fitted, const CheckSummary& line) {
  return {name,
          std::to_string(line.count),
          fitted != nullptr ? short_percent(fitted->mape) : "",
          fitted != nullptr ? short_percent(fitted->median) : "",
          signed_percent_text(line.bias, std::abs(line.bias) < 0.9995 ? 1 : 0),
          short_percent(line.mape),
          short_percent(line.median),
          short_percent(line.p90)};
}

/// One row per line; parts of sources are told apart by the blank in their name.
std::vector<Cells> rows_of(const std::vector<CheckSummary>& lines,
                           const LeftOutValidation& validation, bool only_parts) {
  std::vector<Cells> rows;
  for (const CheckSummary& line : lines)
    if (!only_parts || line.source == "all" || line.source.find(' ') != std::string::npos)
      rows.push_back(
          row(source_label(line.source, line.group), find(validation.fitted, line), line));
  return rows;
}

bool has_parts(const LeftOutValidation& validation) {
  return !validation.parts.empty() && validation.parts.size() != validation.folds.size();
}

/// How many of the measurements the bands held though the profiles had not seen their source.
std::string band_note(const LeftOutValidation& validation) {
  double held = 0.0;
  int runs = 0;
  for (const CheckSummary& line : validation.folds) {
    if (line.source == "all") continue;
    held += line.covered * line.count;
    runs += line.count;
  }
  if (runs == 0) return "";
  return fmt::format(" The shipped bands covered {:.0f} % of them.", 100.0 * held / runs);
}

const Cells& left_out_head() {
  static const Cells cells{"fold", "runs", "MAPE", "median", "bias", "MAPE", "median", "P90"};
  return cells;
}

Json left_out_lines(const std::vector<CheckSummary>& lines) {
  Json list = Json::array();
  for (const CheckSummary& line : lines) {
    list.push_back(summary_json(line));
    list.back()["worst"] = line.worst;
    list.back()["worst_id"] = line.worst_id;
  }
  return list;
}

/// The tables as `section(title, rows, note)` writes one.
template <class Section>
std::string tables_of(const LeftOut& left_out, Section section) {
  std::string text;
  for (const LeftOutValidation& axis : left_out.axes) {
    const std::string note = columns_note + band_note(axis);
    text += (text.empty() ? "" : "\n") +
            section(std::string("Step time of ") + told(axis.axis) + ", percent",
                    rows_of(axis.folds, axis, false), note);
    if (has_parts(axis))
      text += "\n" + section("The same by parts", rows_of(axis.parts, axis, true), parts_note);
  }
  return text;
}

std::string stopped_note(const LeftOut& left_out) {
  if (!left_out.stopped) return "";
  return fmt::format(
      "Stopped after {} of {} folds: totals are of those. The same command goes on from there.",
      left_out.done, left_out.asked);
}

Json axis_json(const LeftOutValidation& axis) {
  Json records = Json::array();
  for (const RecordCheck& check : axis.records)
    records.push_back({{"id", check.id},
                       {"fold", check.source},
                       {"group", check.group},
                       {"measured", check.measured},
                       {"predicted", check.predicted},
                       {"low", check.low},
                       {"high", check.high},
                       {"error", check.error()}});
  return {{"axis", name_of(axis.axis)},
          {"records", std::move(records)},
          {"folds", left_out_lines(axis.folds)},
          {"parts", left_out_lines(axis.parts)},
          {"fitted", left_out_lines(axis.fitted)}};
}

}  // namespace

std::string left_out_text(const LeftOut& left_out, const TextStyle& style) {
  const auto section = [&](const std::string& title, const std::vector<Cells>& rows,
                           const std::string& note) {
    TextTable table{{Align::left, Align::right, Align::right, Align::right, Align::right,
                     Align::right, Align::right, Align::right}};
    table.add(left_out_head());
    std::string last;
    for (const Cells& cells : rows) add_fold_row(cells, last, table);
    return toned(title, Tone::strong, style) + "\n" + table.text(style) +
           hanging("  ", note, style);
  };
  const std::string stopped = stopped_note(left_out);
  return tables_of(left_out, section) + (stopped.empty() ? "" : hanging("  ", stopped, style));
}

std::string left_out_json(const LeftOut& left_out) {
  Json axes = Json::array();
  for (const LeftOutValidation& axis : left_out.axes) axes.push_back(axis_json(axis));
  return dump({{"plan", left_out.plan}, {"stopped", left_out.stopped}, {"axes", std::move(axes)}});
}

std::string left_out_markdown(const LeftOut& left_out) {
  const auto line = [](const Cells& cells) {
    std::string text = "|";
    for (const std::string& cell : cells) text += " " + cell + " |";
    return text + "\n";
  };
  const auto section = [&](const std::string& title, const std::vector<Cells>& rows,
                           const std::string& note) {
    std::string text = "### " + title + "\n\n";
    text +=
        line({"fold", "runs", "MAPE, shipped", "median, shipped", "bias", "MAPE", "median", "P90"});
    text += "|:--|--:|--:|--:|--:|--:|--:|--:|\n";
    for (const Cells& cells : rows) text += line(cells);
    return text + "\n" + note + "\n";
  };
  const std::string stopped = stopped_note(left_out);
  return tables_of(left_out, section) + (stopped.empty() ? "" : "\n" + stopped + "\n");
}

}  // namespace foretrain
