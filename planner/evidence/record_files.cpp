// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/internal/record_files.hpp"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "calibration/records/csv_table.hpp"
#include "models/base/ranges.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {

namespace fs = std::filesystem;

RecordFile record_file(const fs::path& asked, const std::string& shipped,
                       const std::vector<fs::path>& catalogs, const std::string& folder) {
  if (!asked.empty()) return {asked, asked.string()};
  Diagnostics diagnostics;
  const auto roots = catalog_roots(catalogs, diagnostics);
  diagnostics.throw_if_any();
  const std::string below = "calibration/" + folder + "/" + shipped;
  for (const fs::path& root : roots) {
    std::error_code error;
    if (fs::is_regular_file(root / below, error)) return {root / below, below};
  }
  throw UsageError("no " + below + " in " + roots.back().string() + "; name a file");
}

std::string contents(const RecordFile& file) {
  Diagnostics diagnostics;
  const auto text =
      read_text_file(file.path, file.name, run_record_limits().file_bytes, diagnostics);
  diagnostics.throw_if_any();
  if (!text) throw UsageError("cannot read " + file.name);
  return *text;
}

std::vector<RunRecord> read_runs(const RecordFile& file) {
  Diagnostics diagnostics;
  const auto document = parse_yaml(contents(file), file.name, run_record_limits(), diagnostics);
  diagnostics.throw_if_any();
  if (!document) throw UsageError(file.name + ": no records");
  std::vector<RunRecord> records = read_run_records(*document, file.name, diagnostics);
  diagnostics.throw_if_any();
  return records;
}

std::vector<RunRecord> read_vtrain(const RecordFile& file) {
  Diagnostics diagnostics;
  std::vector<RunRecord> records = read_vtrain_records(contents(file), file.name, diagnostics);
  diagnostics.throw_if_any();
  return records;
}

std::vector<RunRecord> with_grades(std::vector<RunRecord> records,
                                   const std::vector<std::string>& grades) {
  const auto unasked = [&](const RunRecord& record) {
    return !grades.empty() && !contains(grades, record.confidence);
  };
  records.erase(std::remove_if(records.begin(), records.end(), unasked), records.end());
  return records;
}

std::vector<RunRecord> asked_runs(const ValidateRequest& request) {
  std::vector<RunRecord> records;
  const auto add = [&](std::vector<RunRecord> more) {
    std::move(more.begin(), more.end(), std::back_inserter(records));
  };
  if (request.runs && !request.runs->empty())
    add(read_runs(record_file(*request.runs, "", request.catalogs)));
  if (request.runs && request.runs->empty())
    for (const char* shipped : shipped_runs)
      add(read_runs(record_file("", shipped, request.catalogs)));
  if (request.vtrain) {
    for (const fs::path& file : *request.vtrain)
      add(read_vtrain(record_file(file, "", request.catalogs)));
    if (request.vtrain->empty())
      for (const char* shipped : {"vtrain_single.csv", "vtrain_multi.csv"})
        add(read_vtrain(record_file("", shipped, request.catalogs)));
  }
  return with_grades(std::move(records), request.confidence);
}

NamedFitPlan load_fit_plan(const fs::path& asked, const std::vector<fs::path>& catalogs,
                           RunCatalog& catalog) {
  const RecordFile file = record_file(asked, "steps.yaml", catalogs, "fits");
  Diagnostics diagnostics;
  const std::string text = contents(file);
  auto plan = read_fit_plan(text, file.name, catalog, diagnostics);
  diagnostics.throw_if_any();
  if (!plan) throw UsageError(file.name + ": no fit plan");
  return {file.name, std::move(*plan), file.path, text};
}

std::vector<RunRecord> shipped_records(const std::vector<fs::path>& catalogs) {
  std::vector<RunRecord> records;
  const auto add = [&](std::vector<RunRecord> more) {
    std::move(more.begin(), more.end(), std::back_inserter(records));
  };
  for (const char* runs : shipped_runs) add(read_runs(record_file("", runs, catalogs)));
  for (const char* table : {"vtrain_single.csv", "vtrain_multi.csv"})
    add(read_vtrain(record_file("", table, catalogs)));
  return records;
}

}  // namespace foretrain
