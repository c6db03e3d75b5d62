// SPDX-License-Identifier: Apache-2.0
#include "tests/calibration/measured_records.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

namespace foretrain {

std::string measured_file(const std::string& name) {
  std::ifstream stream(std::string(FORETRAIN_SOURCE_DIR) + "/calibration/measured/" + name);
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>(stream), {}};
}

const std::vector<RunRecord>& shipped_runs() {
  static const std::vector<RunRecord> runs = [] {
    Diagnostics diagnostics;
    const auto document =
        parse_yaml(measured_file("runs.yaml"), "runs.yaml", run_record_limits(), diagnostics);
    REQUIRE(document.has_value());
    std::vector<RunRecord> records = read_run_records(*document, "runs.yaml", diagnostics);
    REQUIRE(diagnostics.empty());
    return records;
  }();
  return runs;
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
