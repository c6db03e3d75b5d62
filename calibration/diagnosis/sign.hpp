// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibration/diagnosis/expected_run.hpp"
#include "calibration/diagnosis/run_course.hpp"
#include "calibration/training_logs/training_log.hpp"
#include "models/base/names.hpp"
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

/// What a log shows or does not show beside levels.
enum class Sign {
  checkpoint_pauses,  ///< time is lost where checkpoints are written
  periodic_stalls,    ///< single slow steps at equal distances, at no checkpoint
  irregular_stalls,   ///< single slow steps at unequal distances
  wide_spread,        ///< steps scatter
  drift_up,           ///< steps get slower and slower
  level_shift,        ///< from one step on they are slower
  clock_low,          ///< GPUs report less than nine tenths of the fastest one's clock
  clock_full,         ///< all GPUs report the clock of the fastest
  gpus_idle,          ///< the least used GPU is busy for less than nine tenths
  allocator_retries,  ///< the allocator ran out and tried again
  memory_full,        ///< what is held comes near to what there is
  fewer_nics,         ///< NCCL lists fewer than the scenario's host has
  sockets,            ///< NCCL uses TCP
  overlap_off,        ///< the log's settings do not overlap what the scenario does
  attention_differs,  ///< Transformer Engine chose another kernel than the scenario's
  recompute_differs,  ///< the log's settings recompute something else than the scenario
  collections         ///< garbage collections are announced
};
inline constexpr std::size_t sign_count = 17;

/// A sign that the log can tell: whether it is there.
struct SignSeen {
  Sign sign = Sign::checkpoint_pauses;
  bool seen = false;
  std::string what;   ///< one sentence
  double size = 1.0;  ///< in multiples of what is just seen; at least 1
};

/// How often runs show a sign whose forecast is right.
[[nodiscard]] double usual_rate(Sign sign);
/// The same of a sign of that size or larger: the more, the rarer (an inverse square).
[[nodiscard]] double usual_rate(const SignSeen& sign);

/// Signs that the log can tell; those that it cannot are left out.
[[nodiscard]] std::vector<SignSeen> signs_of(const TrainingLog& log, const RunCourse& course,
                                             const Job& job, const ExpectedRun& expected);

}  // namespace foretrain
