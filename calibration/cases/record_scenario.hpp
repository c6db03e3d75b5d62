// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/records/run_catalog.hpp"
#include "calibration/records/run_record.hpp"

namespace foretrain {

/// A measured run as a scenario file, what was measured in its section `measured`.
struct RecordScenario {
  std::string text;
  std::string why;                   ///< of a record that is no scenario: what it lacks
  std::vector<std::string> assumed;  ///< sentences: what the record does not say, or cannot
};

/// The job of run_job(). load_scenario_text() reads it back, but for what `assumed` says of the
/// band.
[[nodiscard]] RecordScenario record_scenario(const RunRecord& record, const RunCatalog& catalog);

}  // namespace foretrain
