// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/training_logs/training_log.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// A setting that a log states otherwise than the scenario.
struct SettingDifference {
  std::string key;  ///< of the scenario: "training.global_batch"
  std::string log;
  std::string scenario;
};

/// Settings that both state and that differ: then the forecast is of another run.
[[nodiscard]] std::vector<SettingDifference> setting_differences(const LoggedPlan& log,
                                                                 const Job& job);

/// The job with the batch, micro-batch and length of sequences that the log states: the same plan
/// on another amount of work, which the forecast follows.
[[nodiscard]] Job with_batch_of(const LoggedPlan& log, Job job);

/// "none", "selective" or "full".
[[nodiscard]] std::string recompute_word(const Job& job);

}  // namespace foretrain
