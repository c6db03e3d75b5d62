// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

// Published maximum of hosts over that of their GPUs: racks of GB200 with 120 kW, DGX A100.
inline constexpr double least_host_power = 1.39;
inline constexpr double most_host_power = 2.04;
// Power usage effectiveness where the scenario does not say it: fleets of large operators (Google,
// Environmental Report 2024: 1.10), and a little over the mean of the Uptime Institute's Global
// Data Center Survey 2024 (1.56).
inline constexpr double least_pue = 1.1;
inline constexpr double most_pue = 1.6;

/// What a GPU draws: as the scenario says, else its catalog file, else its board power.
struct GpuPower {
  Watts busy;
  Watts waiting;
  Watts idle;
  bool busy_known = false;  ///< more than board power is
  bool waiting_known = false;
};
[[nodiscard]] GpuPower gpu_power(const Job& job);

/// Share of a step in which kernels run.
[[nodiscard]] double kernel_share(const StepForecast& step);

/// Mean draw of the whole machine at the meter while steps run: kernels at the device's busy power,
/// everything else of the step at its waiting power, hosts and network as the scenario says, times
/// PUE. A device whose draw nobody measured counts with its board power throughout.
[[nodiscard]] Watts training_power(const Job& job, const StepForecast& step);

/// The same while no step runs: restarts, queues, repairs.
[[nodiscard]] Watts idle_power(const Job& job);

struct PowerRange {
  Watts low;
  Watts high;
};

/// What the machine may draw at most: hosts and network as the scenario says; else the published
/// maximum of the host; else a range, as much more than the GPUs as published hosts draw. Times PUE
/// where the scenario says it. Zero: nothing is known of the GPUs. models/run/README.md, "Energy".
[[nodiscard]] PowerRange most_power(const Job& job);

}  // namespace foretrain
