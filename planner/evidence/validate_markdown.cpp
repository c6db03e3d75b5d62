// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "planner/evidence/internal/validate_alone.hpp"
#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/evidence/validate.hpp"
#include "planner/text/markdown.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

using Cells = std::vector<std::string>;

constexpr const char* worst_record = "worst record";

std::string row(const Cells& cells) {
  std::string result = "|";
  for (const std::string& cell : cells) result += " " + markdown_cell(cell) + " |";
  return result + "\n";
}

/// A table whose first `words` columns are words, the others numbers, but for the record that the
/// last column may name; nothing without rows.
std::string table(const std::string& title, const Cells& head, std::size_t words,
                  const std::vector<Cells>& rows) {
  if (rows.empty()) return "";
  std::string result = "\n### " + title + "\n\n" + row(head) + "|";
  for (std::size_t i = 0; i < head.size(); ++i)
    result += i < words || head[i] == worst_record ? ":--|" : "--:|";
  result += "\n";
  for (const Cells& cells : rows) result += row(cells);
  return result;
}

std::string name_cell(const CheckSummary& line) {
  return line.source == "all" ? "**all**" : line.source;
}

std::string or_dash(bool known, const std::string& text) { return known ? text : "-"; }

/// count, skipped, bias, MAPE, median, P90, worst.
void add_errors(const CheckSummary& line, Cells& cells) {
  const bool any = line.count > 0;
  for (const std::string& text :
       {with_thousands(line.count), with_thousands(line.skipped),
        or_dash(any, signed_percent_text(line.bias, 2)), or_dash(any, percent_figure(line.mape, 2)),
        or_dash(any, percent_figure(line.median, 2)), or_dash(any, percent_figure(line.p90, 2)),
        or_dash(any, signed_percent_text(line.worst, 2))})
    cells.push_back(text);
}

Cells step_cells(const CheckSummary& line) {
  Cells cells{name_cell(line), or_dash(!line.group.empty(), line.group)};
  add_errors(line, cells);
  const bool any = line.count > 0;
  cells.push_back(or_dash(any, percent_figure(line.covered, 2)));
  cells.push_back(or_dash(any && line.pairs > 0, fixed_text(line.tau, 2)));
  cells.push_back(or_dash(any, with_thousands(line.pairs)));
  cells.push_back(or_dash(any, percent_figure(line.half_peak_mape, 2)));
  cells.push_back(or_dash(any, percent_figure(line.own_mfu_mape, 2)));
  cells.push_back(or_dash(any, line.worst_id));
  return cells;
}

Cells size_cells(const CheckSummary& line) {
  Cells cells{name_cell(line), line.quantity};
  add_errors(line, cells);
  cells.push_back(or_dash(line.count > 0, line.worst_id));
  return cells;
}

Cells alone_cells(const CheckSummary& line) {
  Cells cells{name_cell(line), or_dash(!line.group.empty(), line.group),
              or_dash(!line.item.empty(), line.item)};
  add_errors(line, cells);
  cells.push_back(or_dash(line.count > 0, percent_figure(line.covered, 2)));
  cells.push_back(or_dash(line.count > 0, line.worst_id));
  return cells;
}

/// The errors of `fits` are 1 (promised too much), -1 (too little) and 0.
Cells fit_cells(const CheckSummary& line) {
  const double promised = line.count * (line.mape + line.bias) / 2.0;
  const double refused = line.count * (line.mape - line.bias) / 2.0;
  return {name_cell(line),
          with_thousands(line.count),
          with_thousands(line.skipped),
          or_dash(line.count > 0, percent_figure(1.0 - line.mape, 2)),
          with_thousands(std::llround(promised)),
          with_thousands(std::llround(refused))};
}

std::string skipped_table(const Validation& validation) {
  std::vector<Cells> rows;
  for (const RecordCheck& check : validation.records)
    if (check.skipped) rows.push_back({check.id, check.quantity, check.why});
  return table("Skipped", {"record", "quantity", "why"}, 3, rows);
}

}  // namespace

std::string validation_markdown(const Validation& validation, bool skipped) {
  std::vector<Cells> steps;
  std::vector<Cells> sizes;
  std::vector<Cells> fits;
  std::vector<Cells> kernels;
  std::vector<Cells> collectives;
  for (const CheckSummary& line : validation.summary) {
    if (line.quantity == step_quantity)
      steps.push_back(step_cells(line));
    else if (line.quantity == fits_quantity)
      fits.push_back(fit_cells(line));
    else if (is_alone(line.quantity))
      (line.quantity == kernel_quantity ? kernels : collectives).push_back(alone_cells(line));
    else
      sizes.push_back(size_cells(line));
  }
  std::string result = "## Forecasts against measurements\n\nMeasured:";
  for (const std::string& file : validation.files)
    result += (&file == &validation.files.front() ? " `" : ", `") + file + "`";
  result +=
      "\n\nErrors are predicted / measured - 1 in percent. Bias and worst have a sign; MAPE, "
      "median "
      "and P90 (90th percentile) are of its size. Band: measurements inside the forecast's P10 to "
      "P90, percent. Tau: Kendall's, over pairs of runs with the same model, GPUs and batch. 50 %: "
      "MAPE of a constant MFU of 50 %; own: of the mean MFU of those runs.\n";
  result += table("Step time",
                  {"source", "group", "runs", "skipped", "bias", "MAPE", "median", "P90", "worst",
                   "band", "tau", "pairs", "50 %", "own", worst_record},
                  2, steps);
  const Cells alone{"source", "group",  "what", "count", "skipped", "bias",
                    "MAPE",   "median", "P90",  "worst", "band",    worst_record};
  result += table("Kernels alone", alone, 3, kernels);
  result += table("Collectives alone", alone, 3, collectives);
  result += table("Memory",
                  {"source", "quantity", "count", "skipped", "bias", "MAPE", "median", "P90",
                   "worst", worst_record},
                  2, sizes);
  result +=
      table("Fits or runs out of memory",
            {"source", "count", "skipped", "correct, percent", "false fit", "false OOM"}, 1, fits);
  return skipped ? result + skipped_table(validation) : result;
}

}  // namespace foretrain
