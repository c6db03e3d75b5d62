// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"
#include "models/run/goodput.hpp"

namespace foretrain {

/// Mean time between unannounced interruptions of this job; zero: never; absent: not said. A rate
/// per GPU-hour, node-day or part is scaled with the machine; a measured curve is interpolated
/// between its points in logarithms and continued as 1 / GPUs beyond them, with a warning.
[[nodiscard]] std::optional<Seconds> time_between_interruptions(const Job& job,
                                                                std::vector<Warning>& warnings);

/// What bounds writing or reading a checkpoint.
struct CheckpointTimes {
  Bytes size;
  double hosts = 1.0;                  ///< that write
  std::optional<Seconds> write;        ///< to storage
  std::optional<Seconds> read;         ///< from it
  std::optional<Seconds> local_write;  ///< to hosts' own storage, which drains to the other
  std::optional<Seconds> local_read;
  std::optional<Seconds> stall;  ///< that training stands still
  Seconds behind;                ///< after the stall, until it is written everywhere
  /// After the stall, until a restart can load it: the copy at the hosts serves a part of them.
  Seconds safe;
  std::optional<Seconds> reload;  ///< in the mean over both copies
};

/// Rates are the least of what the scenario says of the job, the storage system, the processes that
/// write and the links of their hosts: all GPUs with a sharded optimizer, else one replica's. Over
/// the compute network a host's link is its NICs. An asynchronous checkpoint stalls for the copy to
/// host memory over PCIe unless a stall was measured; one that hosts' own storage takes first
/// stalls for that, where it is synchronous, and drains afterwards.
[[nodiscard]] CheckpointTimes checkpoint_times(const Job& job);

/// How many times as long steps take while a checkpoint is written beside them: as the scenario
/// says, else 1 on a network of its own, else exchanges between hosts that nothing hides get what
/// the checkpoint leaves of the NICs. The event engine plays it (DisturbanceKind::checkpoint).
[[nodiscard]] double checkpoint_slowdown(const Job& job, const CheckpointTimes& times,
                                         const StepForecast& step);

/// The scenario's operations as random processes.
struct RunInputs {
  std::optional<RunModel> model;     ///< absent: something is missing
  std::vector<std::string> missing;  ///< keys that the scenario would have to give
};

[[nodiscard]] RunInputs run_model(const Job& job, const StepForecast& step, Seconds ideal,
                                  std::vector<Warning>& warnings);

/// Tokens, steps and the time of all steps back to back, smaller batches first where the scenario
/// ramps the batch up: a step of them is priced by the closed form, scaled to `step` at the full
/// batch. @pre job.training.tokens
struct StepCount {
  double steps = 0.0;
  Seconds ideal;
};
[[nodiscard]] StepCount count_steps(const Job& job, const StepForecast& step);

/// Batch sizes of the ramp that do not divide into micro-batches of all replicas, and ramps that
/// are longer than the run, as sentences.
[[nodiscard]] std::vector<std::string> broken_ramp(const Job& job);

}  // namespace foretrain
