// SPDX-License-Identifier: Apache-2.0
#include "tests/calibration/measured_records.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <utility>

#include "calibration/records/csv_table.hpp"

namespace foretrain {

std::string measured_file(const std::string& name) {
  std::ifstream stream(std::string(FORETRAIN_SOURCE_DIR) + "/calibration/measured/" + name);
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<RunRecord> runs_in(const char* name) {
  Diagnostics diagnostics;
  const auto document = parse_yaml(measured_file(name), name, run_record_limits(), diagnostics);
  REQUIRE(document.has_value());
  std::vector<RunRecord> records = read_run_records(*document, name, diagnostics);
  REQUIRE(diagnostics.empty());
  return records;
}

const std::vector<RunRecord>& shipped_runs() {
  static const std::vector<RunRecord> runs = runs_in("runs.yaml");
  return runs;
}

const std::vector<RunRecord>& newest_runs() {
  static const std::vector<RunRecord> runs = runs_in("runs_2026.yaml");
  return runs;
}

std::vector<RunRecord> all_shipped_runs() {
  std::vector<RunRecord> records = shipped_runs();
  records.insert(records.end(), newest_runs().begin(), newest_runs().end());
  for (const char* file : {"runs_released.yaml", "runs_more.yaml"})
    for (RunRecord& record : runs_in(file)) records.push_back(std::move(record));
  Diagnostics diagnostics;
  for (const char* table : {"vtrain_single.csv", "vtrain_multi.csv"})
    for (RunRecord& record : read_vtrain_records(measured_file(table), table, diagnostics))
      records.push_back(std::move(record));
  REQUIRE(diagnostics.empty());
  return records;
}

std::vector<KernelRecord> shipped_kernels() {
  Diagnostics diagnostics;
  std::vector<KernelRecord> records;
  for (const char* const table : kernel_tables)
    for (KernelRecord& record : read_kernel_records(measured_file(table), table, diagnostics))
      records.push_back(std::move(record));
  REQUIRE(diagnostics.empty());
  return records;
}

const RunRecord& shipped_run(const std::string& id) {
  const auto found = std::find_if(shipped_runs().begin(), shipped_runs().end(),
                                  [&](const RunRecord& record) { return record.id == id; });
  INFO(id);
  REQUIRE(found != shipped_runs().end());
  return *found;
}

const RunCatalog& shipped_catalog() {
  static const RunCatalog catalog = load_run_catalog();
  return catalog;
}

}  // namespace foretrain
