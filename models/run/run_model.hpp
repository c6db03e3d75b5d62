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
  std::optional<Seconds> write;  ///< to storage
  std::optional<Seconds> read;
  std::optional<Seconds> stall;  ///< that training stands still
};

/// Rates are the least of what the scenario says of the job, the storage system and the links of
/// the hosts that take part: all of them with a sharded optimizer, else one replica's. An
/// asynchronous checkpoint stalls for the copy to host memory over PCIe unless a stall was
/// measured.
[[nodiscard]] CheckpointTimes checkpoint_times(const Job& job);

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
