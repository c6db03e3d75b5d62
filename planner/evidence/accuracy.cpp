// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/accuracy.hpp"
#include "planner/scene/scene.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "calibration/records/csv_table.hpp"
#include "calibration/records/run_catalog.hpp"
#include "models/base/percentile.hpp"
#include "models/base/ranges.hpp"
#include "planner/evidence/internal/record_files.hpp"
#include "planner/evidence/internal/validate_report.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

struct NumberColumn {
  const char* name;
  double LeftOutError::*value;
};

constexpr std::array<NumberColumn, 5> columns{{{"mape_fitted", &LeftOutError::mape_fitted},
                                               {"median_fitted", &LeftOutError::median_fitted},
                                               {"bias", &LeftOutError::bias},
                                               {"mape", &LeftOutError::mape},
                                               {"median", &LeftOutError::median}}};

/// Bias, mean and median of a line, from what profiles without the source predict.
void set_left_out(LeftOutError& line, const CheckSummary& summary) {
  line.runs = summary.count;
  line.bias = summary.bias;
  line.mape = summary.mape;
  line.median = summary.median;
  line.in_band = summary.covered;
}

void set_fitted(LeftOutError& line, const std::vector<CheckSummary>& fitted) {
  for (const CheckSummary& summary : fitted) {
    if (summary.source != line.source || summary.group != line.group) continue;
    line.mape_fitted = summary.mape;
    line.median_fitted = summary.median;
  }
}

/// The fold with 45 % of a group's runs or more, if there is one beside others.
std::string dominant(const std::vector<LeftOutError>& lines, const LeftOutError& total) {
  for (const LeftOutError& line : lines)
    if (!line.total() && line.group == total.group && 20 * line.runs >= 9 * total.runs &&
        line.runs < total.runs)
      return line.source;
  return "";
}

/// The records of a group without one source, summed up as `total` is.
std::vector<CheckSummary> summarize_without(const std::vector<RecordCheck>& records,
                                            const LeftOutError& total, const std::string& source) {
  std::vector<RecordCheck> kept;
  std::ranges::copy_if(records, std::back_inserter(kept), [&](const RecordCheck& check) {
    return check.group == total.group && check.source != source;
  });
  for (RecordCheck& check : kept) check.source = total.source;
  return summarize(kept);
}

template <class Value>
bool among(const Value& value, const std::vector<Value>& asked) {
  return asked.empty() || contains(asked, value);
}

AnswerTable axis_table(const std::vector<const LeftOutError*>& lines) {
  AnswerTable table{{words_column("left out"), number_column("runs"), number_column("MAPE"),
                     number_column("median"), number_column("bias"), number_column("band"),
                     number_column("MAPE*")}};
  std::string last;
  for (const LeftOutError* line : lines)
    add_fold_row({left_out_label(*line), with_thousands(line->runs), percent_figure(line->mape, 1),
                  percent_figure(line->median, 1), signed_percent_text(line->bias, 1),
                  line->in_band ? fixed_text(100.0 * *line->in_band, 0) : std::string(),
                  percent_figure(line->mape_fitted, 1)},
                 last, table);
  return table;
}

/// The total of an axis, all kinds of runs together.
const LeftOutError* axis_total(const std::vector<LeftOutError>& lines, FoldAxis axis) {
  for (const LeftOutError& line : lines)
    if (line.axis == axis && line.total() && line.group.empty()) return &line;
  return nullptr;
}

std::string in_band_words(const LeftOutError& line) {
  return line.in_band ? fmt::format("; {:.0f} % inside the band", 100.0 * *line.in_band)
                      : std::string();
}

/// What is to be expected of runs that no profile has seen, along up to four axes.
AnswerHead accuracy_head(const std::vector<LeftOutError>& lines,
                         const std::vector<FoldAxis>& axes) {
  AnswerHead head;
  head.subject = "Errors of runs left out of the fit";
  for (const auto& [axis, name] : EnumNames<FoldAxis>::names) {
    const LeftOutError* const total = axis_total(lines, axis);
    if (total == nullptr || !among(axis, axes)) continue;
    const std::string median = percent_figure(total->median, 1) + " %";
    if (head.figures.empty()) {
      head.words = "MEDIAN ERROR " + median;
      head.sentence =
          fmt::format("Step times of {} are {} off in the median, {} % in the mean{}.", told(axis),
                      median, percent_figure(total->mape, 1), in_band_words(*total));
    }
    if (head.figures.size() < 4)
      head.figures.push_back({unseen_name(axis), median, "",
                              with_thousands(total->runs) + " runs" + in_band_words(*total)});
  }
  return head;
}

std::vector<LeftOutError> errors_of_axis(const LeftOutValidation& validation) {
  std::vector<LeftOutError> lines;
  for (const CheckSummary& summary : validation.folds) {
    LeftOutError line;
    line.axis = validation.axis;
    line.source = summary.source;
    line.group = summary.group;
    set_left_out(line, summary);
    set_fitted(line, validation.fitted);
    const std::string source =
        line.total() && !line.group.empty() ? dominant(lines, line) : std::string();
    if (!source.empty()) {
      LeftOutError rest = line;
      rest.without = source;
      set_left_out(rest, summarize_without(validation.records, line, source).front());
      set_fitted(rest, summarize_without(validation.fitted_records, line, source));
      lines.push_back(std::move(rest));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

std::vector<LeftOutError> left_out_errors(const LeftOut& left_out) {
  std::vector<LeftOutError> lines;
  for (const LeftOutValidation& axis : left_out.axes) {
    std::vector<LeftOutError> own = errors_of_axis(axis);
    std::move(own.begin(), own.end(), std::back_inserter(lines));
  }
  return lines;
}

double median_error(const std::vector<const RecordCheck*>& checks) {
  std::vector<double> sizes;
  for (const RecordCheck* check : checks) sizes.push_back(std::abs(check->error()));
  return median_of(std::move(sizes));
}

std::string left_out_csv(const std::vector<LeftOutError>& lines) {
  std::string text = "axis,fold,group,without,runs";
  for (const NumberColumn& column : columns) text += std::string(",") + column.name;
  text += ",in_band\n";
  for (const LeftOutError& line : lines) {
    text += fmt::format("{},{},{},{},{}", name_of(line.axis), line.source, line.group, line.without,
                        line.runs);
    for (const NumberColumn& column : columns)
      text += fmt::format(",{:.2f}", 100.0 * (line.*(column.value)));
    text += line.in_band ? fmt::format(",{:.1f}\n", 100.0 * *line.in_band) : ",\n";
  }
  return text;
}

std::vector<LeftOutError> read_left_out(const std::string& text, const std::string& file) {
  std::vector<std::string> required{"axis", "fold", "group", "without", "runs", "in_band"};
  for (const NumberColumn& column : columns) required.emplace_back(column.name);
  Diagnostics diagnostics;
  const CsvTable table = read_csv(text, file, required, diagnostics);
  std::vector<LeftOutError> lines;
  for (const CsvRow& row : table.rows) {
    if (table.columns.size() != row.cells.size()) continue;
    LeftOutError line;
    if (const auto axis = from_name<FoldAxis>(table.cell(row, "axis")))
      line.axis = *axis;
    else
      diagnostics.add(Diagnostic{file, row.line, 1, "",
                                 "axis: " + in_quotes(table.cell(row, "axis")) + " is none"});
    line.source = table.cell(row, "fold");
    line.group = table.cell(row, "group");
    line.without = table.cell(row, "without");
    const auto number = [&](const char* column, bool needed) {
      std::optional<double> value;
      if (!read_number(table.cell(row, column), value) || (needed && !value))
        diagnostics.add(Diagnostic{
            file, row.line, 1, "",
            std::string(column) + ": " + in_quotes(table.cell(row, column)) + " is not a number"});
      return value;
    };
    line.runs = static_cast<int>(number("runs", true).value_or(0.0));
    for (const NumberColumn& column : columns)
      line.*(column.value) = number(column.name, true).value_or(0.0) / 100.0;
    if (const auto share = number("in_band", false)) line.in_band = *share / 100.0;
    lines.push_back(std::move(line));
  }
  diagnostics.throw_if_any();
  return lines;
}

std::vector<LeftOutError> shipped_left_out(const std::vector<std::filesystem::path>& catalogs) {
  const RecordFile file = record_file("", "left_out.csv", catalogs, "fits");
  return read_left_out(contents(file), file.name);
}

int fold_count(const std::vector<LeftOutError>& lines, FoldAxis axis) {
  std::set<std::string> folds;
  for (const LeftOutError& line : lines)
    if (line.axis == axis && !line.total()) folds.insert(line.source);
  return static_cast<int>(folds.size());
}

std::string fit_date(const std::vector<std::filesystem::path>& catalogs) {
  std::string newest;
  for (const auto& [name, stack] : load_run_catalog(catalogs).stacks)
    newest = std::max(newest, stack.provenance.date);
  return newest;
}

std::string left_out_label(const LeftOutError& line) {
  if (!line.total()) return source_label(line.source, line.group);
  const std::string group = line.group.empty() ? "all runs" : "all " + line.group;
  return line.without.empty() ? group : line.group + " but " + line.without;
}

Answer accuracy_answer(const std::vector<LeftOutError>& lines, const AccuracyFilter& filter) {
  Answer answer{accuracy_head(lines, filter.axes)};
  for (const auto& [axis, name] : EnumNames<FoldAxis>::names) {
    std::vector<const LeftOutError*> shown;
    for (const LeftOutError& line : lines)
      if (line.axis == axis && among(axis, filter.axes) && among(line.source, filter.sources))
        shown.push_back(&line);
    answer.add(std::string("Step time of ") + told(axis) + ", percent", axis_table(shown));
  }
  if (answer.sections.empty()) throw UsageError("there is no line of the sources asked for");
  answer.sections.back().blocks.emplace_back(AnswerLine{
      "predicted / measured - 1 by profiles that were fitted without these runs: the error to "
      "expect of runs that no profile has seen. band: measurements inside their P10 to P90. *: by "
      "the shipped profiles, which were fitted on these runs, too."});
  answer.add("Errors by what was left out",
             AnswerPicture{left_out_chart(lines, picture_space({}, 980.0)),
                           "Errors by axis and kind of run"},
             AnswerPlace::pages);
  return answer;
}

}  // namespace foretrain
