// SPDX-License-Identifier: Apache-2.0
// measured/public_runs.yaml: runs that stay out of every fit, so that their errors are those of a
// forecast that nobody has checked before. calibration/docs/public-runs.md shows the table.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "calibration/cases/step_case.hpp"
#include "calibration/validate/validations.hpp"
#include "tests/calibration/measured_records.hpp"

namespace foretrain {
namespace {

std::vector<RunRecord> public_runs() { return runs_in("public_runs.yaml"); }

}  // namespace

TEST_CASE("public runs: none comes from a source that profiles are fitted on", "[calibration]") {
  std::set<std::string> families, ids;
  for (const RunRecord& record : shipped_runs()) families.insert(record.family());
  for (const RunRecord& record : public_runs()) {
    CAPTURE(record.id);
    CHECK(families.count(record.family()) == 0);
    CHECK(ids.insert(record.id).second);
    CHECK_FALSE(record.source.empty());
    CHECK_FALSE(record.notes.empty());
  }
}

TEST_CASE("public runs: all are priced, dense ones within a tenth in the median", "[calibration]") {
  const std::vector<RecordCheck> checks = check_run_steps(public_runs(), shipped_catalog());
  REQUIRE(checks.size() == 43);
  for (const RecordCheck& check : checks) {
    CAPTURE(check.id, check.why);
    CHECK_FALSE(check.skipped);
  }
  for (const CheckSummary& line : summarize(checks)) {
    if (line.source != "all" || line.group != dense_half_group) continue;
    CAPTURE(line.median, line.mape);
    CHECK(line.median < 0.12);
  }
}

}  // namespace foretrain
