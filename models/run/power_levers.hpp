// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"
#include "models/run/power_course.hpp"

namespace foretrain {

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
