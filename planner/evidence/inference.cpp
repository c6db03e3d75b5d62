// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "calibration/fit/profile_text.hpp"
#include "calibration/validate/inference_validation.hpp"
#include "planner/evidence/internal/record_files.hpp"
#include "planner/evidence/internal/validate_alone.hpp"
#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/catalog_files.hpp"

namespace foretrain {
namespace {

using Align = TextTable::Align;

constexpr const char* shipped_inference = "inference_runs.yaml";

std::vector<InferenceRecord> read_inference(const InferenceRequest& request, std::string& name) {
  const RecordFile file = record_file(request.file, shipped_inference, request.catalogs);
  name = file.name;
  Diagnostics diagnostics;
  const auto document = parse_yaml(contents(file), file.name, run_record_limits(), diagnostics);
  diagnostics.throw_if_any();
  if (!document) throw UsageError(file.name + ": no records");
  auto records = read_inference_records(*document, file.name, diagnostics);
  diagnostics.throw_if_any();
  const auto unasked = [&](const InferenceRecord& record) {
    return !request.sources.empty() && std::find(request.sources.begin(), request.sources.end(),
                                                 record.table()) == request.sources.end();
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

std::string quantity_table(const Validation& validation, const std::string& quantity,
                           const std::string& title, const TextStyle& style) {
  TextTable table{{Align::left, Align::right, Align::right, Align::right, Align::right,
                   Align::right, Align::right, Align::right}};
  table.add({"of", "count", "bias", "MAPE", "median", "P90", "band", "tau"});
  bool any = false;
  for (const Line& line : lines_of(validation, quantity)) {
    if (line.checks.empty()) continue;
    any = true;
    const CheckSummary summary = summary_of_line(line);
    table.add({line.name, std::to_string(summary.count), signed_percent_text(summary.bias, 1),
               short_percent(summary.mape), short_percent(summary.median),
               short_percent(summary.p90), fixed_text(summary.covered * 100.0, 0),
               summary.pairs > 0 ? fixed_text(summary.tau, 2) : "-"});
  }
  if (!any) return "";
  return "\n" + toned(title + ": predicted / measured - 1, percent", Tone::strong, style) + "\n" +
         table.text(style);
}

constexpr std::array shown_quantities{
    std::pair{output_tokens_quantity, "Output tokens per second"},
    std::pair{output_token_quantity, "Time per output token"},
    std::pair{first_token_quantity, "Time to first token"},
};

std::string tables(const Validation& validation, const TextStyle& style) {
  std::string text;
  for (const auto& [quantity, title] : shown_quantities)
    text += quantity_table(validation, quantity, title, style);
  return text;
}

}  // namespace

Validation validate_inference(const InferenceRequest& request) {
  Validation validation;
  validation.files.emplace_back();
  const auto records = read_inference(request, validation.files.front());
  validation.records = check_inference(records, load_run_catalog(request.catalogs));
  validation.summary = summarize(validation.records);
  return validation;
}

std::string inference_text(const Validation& validation, bool skipped, const TextStyle& style) {
  std::string text;
  for (const std::string& file : validation.files) text += labelled("Measured", file, style, 10);
  text += tables(validation, style);
  text += hanging("  ",
                  "band: share of measurements within the forecast's band. tau: Kendall's rank "
                  "correlation of layouts with the same model, engine, GPU, lengths and load.",
                  style);
  for (const auto& [quantity, title] : shown_quantities) {
    const std::string reasons = reasons_text(validation, quantity, style);
    if (skipped && !reasons.empty())
      text += "\n" + toned(std::string(title) + ": not predicted", Tone::strong, style) + "\n" +
              reasons;
  }
  const auto left_out = std::count_if(validation.records.begin(), validation.records.end(),
                                      [](const RecordCheck& check) { return check.skipped; });
  if (left_out > 0 && !skipped)
    text += "\n" + hanging("",
                           fmt::format("{} of {} figures are skipped; --skipped says why.",
                                       left_out, validation.records.size()),
                           style);
  return text;
}

std::vector<InferenceLeftOut> validate_inference_left_out(const InferenceRequest& request,
                                                          const std::vector<EngineAxis>& axes) {
  std::string name;
  const auto records = read_inference(request, name);
  const RunCatalog catalog = load_run_catalog(request.catalogs);
  const auto near = fit_engines(engine_cases(records, catalog));
  std::vector<InferenceLeftOut> left_out;
  for (const EngineAxis axis : axes)
    left_out.push_back(leave_out_inference(axis, records, catalog, near, request.stop));
  return left_out;
}

std::string inference_left_out_text(const std::vector<InferenceLeftOut>& left_out,
                                    const TextStyle& style) {
  std::string text;
  for (const InferenceLeftOut& part : left_out) {
    Validation folds;
    folds.records = part.checks;
    text +=
        toned(fmt::format("Each {} left out of the fit", name_of(part.axis)), Tone::strong, style) +
        "\n" + tables(folds, style) + "\n";
  }
  return text;
}

EngineCalibration calibrate_engines(const InferenceRequest& request) {
  std::string name;
  const auto records = read_inference(request, name);
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

std::string engine_calibration_text(const EngineCalibration& calibration, const TextStyle& style) {
  std::string text;
  for (const EngineFit& fit : calibration.fits) {
    TextTable table{{Align::left, Align::right, Align::right, Align::right, Align::right}};
    table.add({"constant", "value", "deviation", "prior", "width"});
    for (const EngineConstant& constant : fit.constants)
      table.add({constant.key, constant.text, fmt::format("{:.2g}", constant.deviation),
                 fmt::format("{:.4g}", constant.prior), fmt::format("{:.2g}", constant.width)});
    text += toned(fmt::format("{}, {} measurements", fit.engine, fit.measurements), Tone::strong,
                  style) +
            (fit.converged ? "\n" : " (not converged)\n") + table.text(style) + "\n";
  }
  return text;
}

}  // namespace foretrain
