// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "calibration/fit/profile_text.hpp"
#include "calibration/validate/validations.hpp"
#include "models/base/ranges.hpp"
#include "planner/evidence/internal/record_files.hpp"
#include "planner/evidence/internal/validate_report.hpp"
#include "planner/evidence/validate.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/catalog_files.hpp"

namespace foretrain {
namespace {

constexpr std::array shipped_inference{"inference_runs.yaml", "serving_2026.yaml", "rl_2026.yaml"};

std::vector<InferenceRecord> records_of(const RecordFile& file) {
  Diagnostics diagnostics;
  const auto document = parse_yaml(contents(file), file.name, run_record_limits(), diagnostics);
  diagnostics.throw_if_any();
  if (!document) throw UsageError(file.name + ": no records");
  auto records = read_inference_records(*document, file.name, diagnostics);
  diagnostics.throw_if_any();
  return records;
}

/// The records that are asked for, and the files that they are from.
std::vector<InferenceRecord> read_inference(const InferenceRequest& request,
                                            std::vector<std::string>& names) {
  std::vector<InferenceRecord> records;
  const auto read = [&](const char* shipped) {
    const RecordFile file = record_file(request.file, shipped, request.catalogs);
    names.push_back(file.name);
    auto some = records_of(file);
    std::move(some.begin(), some.end(), std::back_inserter(records));
  };
  if (!request.file.empty())
    read("");
  else
    for (const char* const shipped : shipped_inference) read(shipped);
  const auto unasked = [&](const InferenceRecord& record) {
    return !request.sources.empty() && !contains(request.sources, record.table());
  };
  records.erase(std::remove_if(records.begin(), records.end(), unasked), records.end());
  if (records.empty()) throw UsageError("there is no record of the sources asked for");
  return records;
}

/// The checks of one line of a table.
struct Line {
  std::string name;
  std::vector<RecordCheck> checks;
};

/// Summaries need checks of one source, group and item: what a line gathers is one.
CheckSummary summary_of_line(const Line& line) {
  std::vector<RecordCheck> checks = line.checks;
  for (RecordCheck& check : checks) {
    check.grid = check.source + "|" + check.grid;
    check.source = check.group = check.item = "";
  }
  return summarize(checks).front();
}

std::string last_words(const std::string& item) { return item.substr(item.find(' ') + 1); }
std::string first_word(const std::string& item) { return item.substr(0, item.find(' ')); }

std::vector<Line> lines_of(const Validation& validation, const std::string& quantity) {
  std::map<std::string, Line> engines;
  std::map<std::string, Line> devices;
  std::map<std::string, Line> kinds;
  Line all{"all", {}};
  for (const RecordCheck& check : validation.records) {
    if (check.quantity != quantity || check.skipped) continue;
    all.checks.push_back(check);
    engines[check.group].checks.push_back(check);
    devices[first_word(check.item)].checks.push_back(check);
    kinds[last_words(check.item)].checks.push_back(check);
  }
  std::vector<Line> lines;
  for (auto* const part : {&engines, &devices, &kinds})
    for (auto& [name, line] : *part) lines.push_back({name, std::move(line.checks)});
  lines.push_back(std::move(all));
  return lines;
}

AnswerTable quantity_table(const Validation& validation, const std::string& quantity) {
  AnswerTable table{{words_column("of"), number_column("count")}};
  add_error_columns(table.columns);
  for (const char* const head : {"band", "tau"}) table.columns.push_back(number_column(head));
  for (const Line& line : lines_of(validation, quantity)) {
    if (line.checks.empty()) continue;
    const CheckSummary summary = summary_of_line(line);
    std::vector<AnswerCell> cells{line.name, std::to_string(summary.count)};
    add_errors(summary, cells);
    cells.emplace_back(fixed_text(summary.covered * 100.0, 0));
    cells.emplace_back(summary.pairs > 0 ? fixed_text(summary.tau, 2) : "-");
    table.add(std::move(cells));
  }
  return table;
}

/// Measured over predicted of one engine and quantity, and how much each says: of a model on a
/// device rows_of_group as much as all, as in the fit.
struct Ratios {
  std::vector<std::pair<double, double>> rows;  ///< ratio and weight

  [[nodiscard]] double percentile(double share) const {
    double all = 0.0;
    for (const auto& [ratio, weight] : rows) all += weight;
    double sum = 0.0;
    for (const auto& [ratio, weight] : rows)
      if ((sum += weight) >= share * all) return ratio;
    return rows.back().first;
  }
};

std::map<std::string, Ratios> ratios_by_engine(const std::vector<RecordCheck>& checks,
                                               const std::string& quantity) {
  const auto group_of = [](const RecordCheck& check) {
    return check.source + "|" + check.group + "|" + check.item + "|" +
           check.grid.substr(0, check.grid.find('|'));
  };
  std::map<std::string, double> counts;
  std::map<std::string, Ratios> engines;
  const auto each = [&](auto visit) {
    for (const RecordCheck& check : checks)
      if (check.quantity == quantity && !check.skipped) visit(check);
  };
  each([&](const RecordCheck& check) { ++counts[group_of(check)]; });
  each([&](const RecordCheck& check) {
    const double weight = std::min(1.0, rows_of_group / counts[group_of(check)]);
    engines[check.group].rows.emplace_back(check.measured / check.predicted, weight);
  });
  for (auto& [engine, ratios] : engines) std::ranges::sort(ratios.rows);
  return engines;
}

constexpr std::array shown_quantities{
    std::pair{output_tokens_quantity, "Output tokens per second"},
    std::pair{output_token_quantity, "Time per output token"},
    std::pair{first_token_quantity, "Time to first token"},
    std::pair{low_load_first_token_quantity, "Time to first token, up to four clients"},
    std::pair{rl_step_quantity, "Post-training step"},
    std::pair{rl_generation_quantity, "Post-training generation"},
    std::pair{rl_train_quantity, "Post-training training"},
};

/// A table per quantity, each under its name and what it is `of`.
void add_tables(const Validation& validation, const std::string& of, Answer& answer) {
  for (const auto& [quantity, title] : shown_quantities)
    answer.add(title + of + ": predicted / measured - 1, percent",
               quantity_table(validation, quantity));
}

/// What bands of engines are made of: models/inputs/engine_profile.hpp.
AnswerTable ratio_table(const std::vector<RecordCheck>& checks) {
  AnswerTable table{{words_column("engine"), words_column("quantity"), number_column("count"),
                     number_column("10th"), number_column("90th")}};
  for (const auto& [quantity, title] : shown_quantities)
    for (const auto& [engine, ratios] : ratios_by_engine(checks, quantity))
      table.add({engine, title, std::to_string(ratios.rows.size()),
                 fixed_text(ratios.percentile(0.1), 2), fixed_text(ratios.percentile(0.9), 2)});
  return table;
}

/// Errors of all checks by quantity; the sentence is of the first.
AnswerHead inference_head(const std::string& subject, const std::string& whose,
                          const Validation& validation) {
  AnswerHead head;
  head.subject = subject;
  for (const auto& [quantity, title] : shown_quantities) {
    const Line all = lines_of(validation, quantity).back();
    if (all.checks.empty()) continue;
    const CheckSummary total = summary_of_line(all);
    const std::string median = short_percent(total.median) + " %";
    head.figures.push_back(
        {title, median, "P90 " + short_percent(total.p90) + " %",
         fmt::format("{} figures, {:.0f} % in the band", total.count, 100.0 * total.covered)});
    if (head.figures.size() == 1)
      head.sentence = fmt::format("{} {} is {} off in the median, {} % in the mean.", title, whose,
                                  median, short_percent(total.mape));
  }
  head.words =
      head.figures.empty() ? "NOTHING COMPARED" : "MEDIAN ERROR " + head.figures.front().value;
  if (head.sentence.empty())
    head.sentence = fmt::format("None of {} figures could be compared.", validation.records.size());
  return head;
}

}  // namespace

Validation validate_inference(const InferenceRequest& request) {
  Validation validation;
  const auto records = read_inference(request, validation.files);
  validation.records = check_inference(records, load_run_catalog(request.catalogs));
  validation.summary = summarize(validation.records);
  return validation;
}

Answer inference_answer(const Validation& validation, bool skipped) {
  Answer answer{
      inference_head("Inference forecasts against measurements", "of inference", validation)};
  AnswerFacts files;
  files.label_columns = 10;
  for (const std::string& file : validation.files) files.add("Measured", file);
  answer.add("", std::move(files));
  add_tables(validation, "", answer);
  answer.add("", AnswerLine{"band: share of measurements within the forecast's band. tau: "
                            "Kendall's rank correlation of layouts with the same model, engine, "
                            "GPU, lengths and load."});
  if (!skipped) {
    answer.add("", skipped_line(validation));
    return answer;
  }
  for (const auto& [quantity, title] : shown_quantities)
    answer.add(std::string(title) + ": not predicted", reasons_table(validation, quantity));
  return answer;
}

std::vector<InferenceLeftOut> validate_inference_left_out(const InferenceRequest& request,
                                                          const std::vector<EngineAxis>& axes) {
  std::vector<std::string> names;
  const auto records = read_inference(request, names);
  const RunCatalog catalog = load_run_catalog(request.catalogs);
  const auto near = fit_engines(engine_cases(records, catalog));
  std::vector<InferenceLeftOut> left_out;
  for (const EngineAxis axis : axes)
    left_out.push_back(leave_out_inference(axis, records, catalog, near, request.stop));
  return left_out;
}

Answer inference_left_out_answer(const std::vector<InferenceLeftOut>& left_out) {
  Answer answer;
  for (const InferenceLeftOut& part : left_out) {
    Validation folds;
    folds.records = part.checks;
    if (answer.head.subject.empty())
      answer.head = inference_head("Inference left out of the fit",
                                   fmt::format("with each {} left out", name_of(part.axis)), folds);
    add_tables(folds, fmt::format(", each {} left out", name_of(part.axis)), answer);
    answer.add(
        fmt::format("Measured over predicted, percentiles, each {} left out", name_of(part.axis)),
        ratio_table(part.checks));
  }
  return answer;
}

EngineCalibration calibrate_engines(const InferenceRequest& request) {
  std::vector<std::string> names;
  const auto records = read_inference(request, names);
  const RunCatalog catalog = load_run_catalog(request.catalogs);
  EngineCalibration calibration;
  calibration.fits = fit_engines(engine_cases(records, catalog));
  Diagnostics diagnostics;
  const auto roots = catalog_roots(request.catalogs, diagnostics);
  diagnostics.throw_if_any();
  for (const EngineFit& fit : calibration.fits) {
    const auto file = find_catalog_file(CatalogKind::engines, fit.engine, roots);
    if (!file) continue;
    std::vector<FitEdit> edits;
    for (const EngineConstant& constant : fit.constants)
      edits.push_back({{"times." + constant.key, constant.text}, constant.deviation});
    const std::string before = contents(record_file(file->file, "", {}));
    const auto after = with_fitted(before, edits);
    if (!after) throw UsageError(file->file.string() + ": its constants cannot be written");
    calibration.files.push_back({file->file, before, *after});
  }
  return calibration;
}

Answer engine_calibration_answer(const EngineCalibration& calibration) {
  Answer answer;
  AnswerHead& head = answer.head;
  head.subject = "Constants of inference engines";
  int measurements = 0;
  bool converged = true;
  for (const EngineFit& fit : calibration.fits) {
    measurements += fit.measurements;
    converged = converged && fit.converged;
    if (head.figures.size() < 4)
      head.figures.push_back({fit.engine, fmt::format("{} constants", fit.constants.size()), "",
                              fmt::format("{} measurements", fit.measurements)});
    AnswerTable table{{words_column("constant"), number_column("value"), number_column("deviation"),
                       number_column("prior"), number_column("width")}};
    for (const EngineConstant& constant : fit.constants)
      table.add({constant.key, constant.text, fmt::format("{:.2g}", constant.deviation),
                 fmt::format("{:.4g}", constant.prior), fmt::format("{:.2g}", constant.width)});
    answer.add(fmt::format("{}, {} measurements{}", fit.engine, fit.measurements,
                           fit.converged ? "" : " (not converged)"),
               std::move(table));
  }
  head.verdict = converged ? Verdict::safe : Verdict::no;
  head.words = converged ? "FITTED" : "NOT CONVERGED";
  head.sentence = fmt::format("Constants of {} engines, fitted to {} measurements.",
                              calibration.fits.size(), measurements);
  return answer;
}

}  // namespace foretrain
