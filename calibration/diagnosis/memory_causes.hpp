// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/diagnosis/expected_run.hpp"
#include "calibration/training_logs/training_log.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// A setting that would hold as much memory as was measured.
struct MemoryCause {
  std::string setting;  ///< "memory.recompute=none"
  double bytes = 0.0;   ///< forecast with it, of the log's kind
};

/// Single changes of the plan whose forecast comes at least twice as near to the measured memory as
/// the plan's own, the nearest first; empty: none does.
/// @pre log.memory_max_bytes
[[nodiscard]] std::vector<MemoryCause> memory_causes(const Job& job, const TrainingLog& log,
                                                     const ExpectedRun& expected);

}  // namespace foretrain
