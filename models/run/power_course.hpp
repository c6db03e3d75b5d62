// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"
#include "models/run/machine_power.hpp"
#include "models/step/path.hpp"
#include "models/step/task_graph.hpp"

namespace foretrain {

/// Watts of one GPU of every stage over one step, which repeats: means over equal stretches of
/// time, so that sums over them are the step's energy.
struct GpuCourse {
  Seconds sample;                          ///< length of a stretch
  std::vector<std::vector<Watts>> stages;  ///< by stage, by stretch

  [[nodiscard]] std::size_t samples() const { return stages.empty() ? 0 : stages.front().size(); }
};

/// What a step's tasks draw: kernels of passes the busy power, spread over their pass with the
/// exchanges and launches inside it, kernels of the optimizer theirs, everything else waiting.
/// @param release of the stack, as in StepCosts: what it adds to a step stretches every task
/// @param time of the step; what it has beyond its tasks (stragglers, input) is waiting at its end
/// @param resolution the longest stretch, of steps up to minutes: 2,000,000 samples of all stages
///   are the most
[[nodiscard]] GpuCourse gpu_course(const TaskGraph& graph, const Timeline& timeline, double release,
                                   Seconds time, const GpuPower& power, Seconds resolution);

/// Watts of the machine over one step.
struct PowerCourse {
  Seconds sample;
  std::vector<Watts> gpu;   ///< one GPU of the first stage
  std::vector<Watts> host;  ///< the first host, GPUs included
  std::vector<Watts> rack;  ///< the first rack; empty: nothing says how many hosts it has
  std::vector<Watts> site;  ///< all at the meter, network and PUE as the scenario says
  double coherence = 1.0;   ///< deviation of all hosts together over the sum of their deviations
};
[[nodiscard]] PowerCourse power_course(const Job& job, const GpuCourse& gpus);

/// What meters see: means over a window that starts at every sample of the repeated step.
[[nodiscard]] std::vector<Watts> seen_by_meter(const std::vector<Watts>& course, Seconds sample,
                                               Seconds window);

/// Peak, ramp and swing of a course; mean and range come from the step.
[[nodiscard]] PowerForecast power_forecast(const Job& job, const StepForecast& step,
                                           const PowerCourse& course);

}  // namespace foretrain
