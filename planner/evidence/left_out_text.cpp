// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "planner/evidence/internal/summary_json.hpp"
#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/evidence/validate.hpp"
#include "planner/forecast/internal/prediction_tree.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

using Align = TextTable::Align;
using Cells = std::vector<std::string>;

constexpr const char* columns_note =
    "First MAPE and median: with the shipped profiles. Then, with profiles fitted without the "
    "source: bias, MAPE, median and 90th percentile. Where a source is the only one of its "
    "framework, nothing is left to fit its stack on, and the stack is its prior.";
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
  return validation.parts.size() != validation.sources.size();
}

/// How many of the measurements the bands held though the profiles had not seen their source.
std::string band_note(const LeftOutValidation& validation) {
  double held = 0.0;
  int runs = 0;
  for (const CheckSummary& line : validation.sources) {
    if (line.source == "all") continue;
    held += line.covered * line.count;
    runs += line.count;
  }
  if (runs == 0) return "";
  return fmt::format(" The shipped bands covered {:.0f} % of them.", 100.0 * held / runs);
}

const Cells& head() {
  static const Cells cells{"source", "runs", "MAPE", "median", "bias", "MAPE", "median", "P90"};
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

/// Both tables as `section(title, rows, note)` writes one.
template <class Section>
std::string tables_of(const LeftOutValidation& validation, Section section) {
  const std::string note = columns_note + band_note(validation);
  std::string text = section("Step time of sources that the profiles were not fitted on, percent",
                             rows_of(validation.sources, validation, false), note.c_str());
  if (has_parts(validation))
    text += "\n" +
            section("The same by parts", rows_of(validation.parts, validation, true), parts_note);
  return text;
}

}  // namespace

std::string left_out_text(const LeftOutValidation& validation, const TextStyle& style) {
  const auto section = [&](const char* title, const std::vector<Cells>& rows, const char* note) {
    TextTable table{{Align::left, Align::right, Align::right, Align::right, Align::right,
                     Align::right, Align::right, Align::right}};
    table.add(head());
    for (const Cells& cells : rows) table.add(cells);
    return toned(title, Tone::strong, style) + "\n" + table.text(style) +
           hanging("  ", note, style);
  };
  return tables_of(validation, section);
}

std::string left_out_json(const LeftOutValidation& validation) {
  Json records = Json::array();
  for (const RecordCheck& check : validation.records)
    records.push_back({{"id", check.id},
                       {"source", check.source},
                       {"group", check.group},
                       {"measured", check.measured},
                       {"predicted", check.predicted},
                       {"error", check.error()}});
  return dump({{"plan", validation.plan},
               {"records", std::move(records)},
               {"sources", left_out_lines(validation.sources)},
               {"parts", left_out_lines(validation.parts)},
               {"fitted", left_out_lines(validation.fitted)}});
}

std::string left_out_markdown(const LeftOutValidation& validation) {
  const auto line = [](const Cells& cells) {
    std::string text = "|";
    for (const std::string& cell : cells) text += " " + cell + " |";
    return text + "\n";
  };
  const auto section = [&](const char* title, const std::vector<Cells>& rows, const char* note) {
    std::string text = std::string("### ") + title + "\n\n";
    text += line(
        {"source", "runs", "MAPE, shipped", "median, shipped", "bias", "MAPE", "median", "P90"});
    text += "|:--|--:|--:|--:|--:|--:|--:|--:|\n";
    for (const Cells& cells : rows) text += line(cells);
    return text + "\n" + note + "\n";
  };
  return tables_of(validation, section);
}

}  // namespace foretrain
