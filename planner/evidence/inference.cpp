// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "calibration/validate/inference_validation.hpp"
#include "planner/evidence/internal/record_files.hpp"
#include "planner/evidence/internal/validate_alone.hpp"
#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"

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

constexpr std::pair<const char*, const char*> shown_quantities[]{
    {output_tokens_quantity, "Output tokens per second"},
    {output_token_quantity, "Time per output token"},
    {first_token_quantity, "Time to first token"},
};

std::string tables(const Validation& validation, const TextStyle& style) {
  std::string text;
  for (const auto& [quantity, title] : shown_quantities)
    text += quantity_table(validation, quantity, title, style);
  return text;
}

/// Checks of what one fold leaves out, forecast by the fit that did not see it.
void add_fold(const std::vector<InferenceRecord>& records, const std::string& group,
              const RunCatalog& catalog, std::vector<RecordCheck>& checks) {
  RunCatalog unseen = catalog;
  std::vector<InferenceRecord> hidden;
  std::set<std::string> engines;
  for (const InferenceRecord& record : records)
    if (record.group == group) {
      hidden.push_back(record);
      engines.insert(engine_of_record(record.engine));
    }
  for (const std::string& engine : engines) {
    const auto profile = unseen.engines.find(engine);
    if (profile != unseen.engines.end())
      set_constants(fit_engine(engine, records, catalog, group), profile->second);
  }
  auto made = check_inference(hidden, unseen);
  std::move(made.begin(), made.end(), std::back_inserter(checks));
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

EngineCalibration calibrate_engines(const InferenceRequest& request, bool folds) {
  std::string name;
  const auto records = read_inference(request, name);
  const RunCatalog catalog = load_run_catalog(request.catalogs);
  EngineCalibration calibration;
  const auto stopped = [&] { return request.stop != nullptr && request.stop->load(); };
  for (const auto& [engine, profile] : catalog.engines) {
    if (stopped()) return calibration;
    calibration.fits.push_back(fit_engine(engine, records, catalog));
  }
  std::set<std::string> groups;
  for (const InferenceRecord& record : records)
    if (folds && record.kind == "inference") groups.insert(record.group);
  for (const std::string& group : groups) {
    if (stopped()) return calibration;
    add_fold(records, group, catalog, calibration.left_out);
  }
  return calibration;
}

std::string engine_calibration_text(const EngineCalibration& calibration, const TextStyle& style) {
  std::string text;
  for (const EngineFit& fit : calibration.fits) {
    TextTable table{{Align::left, Align::right, Align::right}};
    table.add({"constant", "value", "deviation"});
    for (const EngineConstant& constant : fit.constants)
      table.add({constant.key, constant.text, fmt::format("{:.2g}", constant.deviation)});
    text +=
        toned(fmt::format("{}, {} measurements", fit.engine, fit.records), Tone::strong, style) +
        (fit.converged || fit.records == 0 ? "\n" : " (not converged)\n") + table.text(style) +
        "\n";
  }
  if (calibration.left_out.empty()) return text;
  Validation folds;
  folds.records = calibration.left_out;
  return text + toned("Each group of records left out of the fit", Tone::strong, style) + "\n" +
         tables(folds, style);
}

std::string engine_file_text(const std::string& before, const EngineFit& fit) {
  std::string after;
  std::size_t start = 0;
  while (start < before.size()) {
    const std::size_t end = std::min(before.find('\n', start), before.size() - 1);
    std::string line = before.substr(start, end - start + 1);
    for (const EngineConstant& constant : fit.constants)
      if (line.starts_with("  " + constant.key + ": "))
        line = "  " + constant.key + ": " + constant.text + "\n";
    after += line;
    start = end + 1;
  }
  return after;
}

}  // namespace foretrain
