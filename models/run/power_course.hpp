// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
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

/// What a measure against peaks and swings costs.
struct PowerLever {
  std::string name;
  Seconds step;   ///< its time
  Joules energy;  ///< of a step, at the meter
  Watts peak;     ///< at the meter, while all GPUs run kernels
  Watts waiting;  ///< at the meter, while all GPUs wait
};

/// A course whose power changes by no more than `slope`: what it burns beyond its work on the way
/// down, and how long its work is held up on the way up. Of a repeated step.
struct RampedCourse {
  Joules burnt;
  Seconds held;
};
[[nodiscard]] RampedCourse ramped(const std::vector<Watts>& course, Seconds sample,
                                  WattsPerSecond slope, Watts dynamic);

/// The step as it is, then with floors under the GPUs' power (operations.power.floor), with GPUs
/// capped, and with limited ramps. A capped GPU runs kernels as the root of its power, as parts of
/// other limits do (scenarios/catalog/device_proportion.cpp); bubbles grow with them.
[[nodiscard]] std::vector<PowerLever> power_levers(const Job& job, const StepForecast& step,
                                                   const GpuCourse& gpus);

}  // namespace foretrain
