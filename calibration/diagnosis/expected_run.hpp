// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>

#include "calibration/training_logs/training_log.hpp"
#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Seconds of a section in a step, of the rank that it is shortest on and of the one that it is
/// longest on.
struct ExpectedSection {
  double least = 0.0;
  double most = 0.0;
};

/// What a run should do, in the words of logs.
struct ExpectedRun {
  double step = 0.0;  ///< seconds
  std::map<LogSection, ExpectedSection> sections;
  double allocated = 0.0;  ///< bytes, of the heaviest stage, as torch counts
  double reserved = 0.0;
  double usable = 0.0;   ///< what the driver offers to a process
  double outside = 0.0;  ///< of what is used, outside the allocator
  TimeBreakdown breakdown;
};

/// @pre broken_rules(job) and not_modelled(job) are empty.
[[nodiscard]] ExpectedRun expected_run(const Job& job);

/// Whether its attention is a kernel that is faster on its device than FlashAttention-2.
[[nodiscard]] bool has_newer_attention(const Job& job);

/// The step with its band.
/// @pre as above
[[nodiscard]] StepForecast expected_band(const Job& job);

}  // namespace foretrain
