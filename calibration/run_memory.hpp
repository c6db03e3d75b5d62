// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/run_catalog.hpp"
#include "calibration/run_record.hpp"
#include "models/job.hpp"

namespace foretrain {

/// A measured run as a job, or why it cannot be one.
struct RunJob {
  std::optional<Job> job;
  std::string why;                       ///< of a record that cannot be expressed
  std::vector<std::string> assumptions;  ///< what the source does not say and was filled in
};

/// Expresses the memory-relevant side of a record with the stack profile of its source family.
[[nodiscard]] RunJob run_memory_job(const RunRecord& record, const RunCatalog& catalog);

}  // namespace foretrain
