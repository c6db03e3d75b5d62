// SPDX-License-Identifier: Apache-2.0
#include "planner/validate.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "calibration/collective_validation.hpp"
#include "calibration/kernel_validation.hpp"
#include "calibration/memory_validation.hpp"
#include "calibration/step_validation.hpp"
#include "calibration/vtrain_records.hpp"
#include "models/require.hpp"
#include "planner/usage_error.hpp"
#include "scenarios/catalog_files.hpp"
#include "scenarios/text_file.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

/// A file to read, and how messages call it.
struct RecordFile {
  fs::path path;
  std::string name;
};

/// The user's file, or the one of that name that ships with the program.
RecordFile record_file(const fs::path& asked, const std::string& shipped,
                       const ValidateRequest& request) {
  if (!asked.empty()) return {asked, asked.string()};
  Diagnostics diagnostics;
  const auto roots = catalog_roots(request.catalogs, diagnostics);
  diagnostics.throw_if_any();
  const std::string below = "calibration/measured/" + shipped;
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

void append(std::vector<RecordCheck> checks, Validation& validation) {
  std::move(checks.begin(), checks.end(), std::back_inserter(validation.records));
}

void add_memory(const RecordFile& file, const RunCatalog& catalog, Validation& validation) {
  validation.files.push_back(file.name);
  const std::string text = contents(file);
  try {
    append(check_megatron_memory(nlohmann::json::parse(text), catalog), validation);
  } catch (const nlohmann::json::exception& error) {
    throw UsageError(file.name + ": " + error.what());
  } catch (const std::runtime_error& error) {
    throw UsageError(file.name + ": " + error.what());
  }
}

bool contains(const std::vector<std::string>& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::vector<RunRecord> graded(std::vector<RunRecord> records, const ValidateRequest& request) {
  const auto unasked = [&](const RunRecord& record) {
    return !request.confidence.empty() && !contains(request.confidence, record.confidence);
  };
  records.erase(std::remove_if(records.begin(), records.end(), unasked), records.end());
  return records;
}

void add_runs(const RecordFile& file, const RunCatalog& catalog, const ValidateRequest& request,
              Validation& validation) {
  validation.files.push_back(file.name);
  const std::string text = contents(file);
  Diagnostics diagnostics;
  const auto document = parse_yaml(text, file.name, run_record_limits(), diagnostics);
  diagnostics.throw_if_any();
  if (!document) throw UsageError(file.name + ": no records");
  const auto all = read_run_records(*document, file.name, diagnostics);
  diagnostics.throw_if_any();
  const auto records = graded(all, request);
  append(check_run_memory(records, catalog), validation);
  append(check_run_steps(records, catalog), validation);
}

void add_vtrain(const RecordFile& file, const RunCatalog& catalog, const ValidateRequest& request,
                Validation& validation) {
  validation.files.push_back(file.name);
  Diagnostics diagnostics;
  const auto all = read_vtrain_records(contents(file), file.name, diagnostics);
  diagnostics.throw_if_any();
  append(check_run_steps(graded(all, request), catalog), validation);
}

void add_kernels(const RecordFile& file, const RunCatalog& catalog, Validation& validation) {
  validation.files.push_back(file.name);
  Diagnostics diagnostics;
  const auto records = read_kernel_records(contents(file), file.name, diagnostics);
  diagnostics.throw_if_any();
  append(check_kernels(records, catalog), validation);
}

void add_collectives(const RecordFile& file, const RunCatalog& catalog, Validation& validation) {
  validation.files.push_back(file.name);
  Diagnostics diagnostics;
  const auto records = read_sweep_records(contents(file), file.name, diagnostics);
  diagnostics.throw_if_any();
  append(check_collectives(records, catalog), validation);
}

void keep_asked(const ValidateRequest& request, Validation& validation) {
  const auto unasked = [&](const RecordCheck& check) {
    const bool time = check.quantity == step_quantity;
    const auto& sources = request.sources;
    return (request.only == ValidateOnly::time && !time) ||
           (request.only == ValidateOnly::memory && time) ||
           (!sources.empty() && !contains(sources, check.source));
  };
  auto& records = validation.records;
  records.erase(std::remove_if(records.begin(), records.end(), unasked), records.end());
  if (!records.empty()) return;
  if (!request.sources.empty() && !request.confidence.empty())
    throw UsageError("there is no record of the sources and the confidence asked for");
  if (!request.sources.empty()) throw UsageError("there is no record of the sources asked for");
  if (!request.confidence.empty())
    throw UsageError("there is no record of the confidence asked for");
}

}  // namespace

Validation validate(const ValidateRequest& request) {
  FORETRAIN_REQUIRE(request.confidence.empty() ||
                    !(request.memory || request.kernels || request.collectives));
  Validation validation;
  const RunCatalog catalog = load_run_catalog(request.catalogs);
  if (request.memory && request.only != ValidateOnly::time)
    add_memory(record_file(*request.memory, "megatron_ci_memory.json", request), catalog,
               validation);
  if (request.runs)
    add_runs(record_file(*request.runs, "runs.yaml", request), catalog, request, validation);
  if (request.vtrain && request.only != ValidateOnly::memory) {
    for (const fs::path& file : *request.vtrain)
      add_vtrain(record_file(file, "", request), catalog, request, validation);
    if (request.vtrain->empty())
      for (const char* shipped : {"vtrain_single.csv", "vtrain_multi.csv"})
        add_vtrain(record_file("", shipped, request), catalog, request, validation);
  }
  const bool all = request.only == ValidateOnly::all;
  if (request.kernels && all)
    add_kernels(record_file(*request.kernels, "kernels.csv", request), catalog, validation);
  if (request.collectives && all)
    add_collectives(record_file(*request.collectives, "nccl_sweeps.csv", request), catalog,
                    validation);
  keep_asked(request, validation);
  validation.summary = summarize(validation.records);
  return validation;
}

}  // namespace foretrain
