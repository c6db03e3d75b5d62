// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/validate.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "calibration/validate/validations.hpp"
#include "models/base/contains.hpp"
#include "models/base/require.hpp"
#include "planner/evidence/internal/record_files.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

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

void add_runs(const RecordFile& file, const RunCatalog& catalog, const ValidateRequest& request,
              Validation& validation) {
  validation.files.push_back(file.name);
  const auto records = with_grades(read_runs(file), request.confidence);
  append(check_run_memory(records, catalog), validation);
  append(check_run_steps(records, catalog), validation);
}

void add_vtrain(const RecordFile& file, const RunCatalog& catalog, const ValidateRequest& request,
                Validation& validation) {
  validation.files.push_back(file.name);
  append(check_run_steps(with_grades(read_vtrain(file), request.confidence), catalog), validation);
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
    add_memory(record_file(*request.memory, "megatron_ci_memory.json", request.catalogs), catalog,
               validation);
  if (request.runs && !request.runs->empty())
    add_runs(record_file(*request.runs, "", request.catalogs), catalog, request, validation);
  if (request.runs && request.runs->empty())
    for (const char* shipped : shipped_runs)
      add_runs(record_file("", shipped, request.catalogs), catalog, request, validation);
  if (request.vtrain && request.only != ValidateOnly::memory) {
    for (const fs::path& file : *request.vtrain)
      add_vtrain(record_file(file, "", request.catalogs), catalog, request, validation);
    if (request.vtrain->empty())
      for (const char* shipped : {"vtrain_single.csv", "vtrain_multi.csv"})
        add_vtrain(record_file("", shipped, request.catalogs), catalog, request, validation);
  }
  const bool all = request.only == ValidateOnly::all;
  if (request.kernels && all && !request.kernels->empty())
    add_kernels(record_file(*request.kernels, "", request.catalogs), catalog, validation);
  if (request.kernels && all && request.kernels->empty())
    for (const char* const shipped : kernel_tables)
      add_kernels(record_file("", shipped, request.catalogs), catalog, validation);
  if (request.collectives && all)
    add_collectives(record_file(*request.collectives, "nccl_sweeps.csv", request.catalogs), catalog,
                    validation);
  keep_asked(request, validation);
  validation.summary = summarize(validation.records);
  return validation;
}

}  // namespace foretrain
