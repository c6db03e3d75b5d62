// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "models/forecast/path_forecast.hpp"
#include "models/run/power_course.hpp"

namespace foretrain {

struct Scene;
struct SceneSpace;

/// Power of one step over time, every millisecond or more often.
[[nodiscard]] PowerCourse step_power(const Job& job, const StepPath& path);

/// Prediction::power of a plan that can run. A step of very many passes is stood for by one of
/// fewer micro-batches, whose ends are the same.
/// @param played the step as an engine played it; null: its critical path
/// @return what its GPUs draw; nothing where the plan cannot run or the GPU's power is unknown
std::optional<GpuCourse> add_power(const Job& job, const StepPath* played, Prediction& prediction);

/// time_s, gpu_w, host_w, rack_w, site_w: a row per sample; rack_w is empty where nothing says how
/// many hosts a rack has.
[[nodiscard]] std::string power_csv(const PowerCourse& course);

/// Watts of one GPU, of the first host and of all at the meter over the step.
/// @pre course has a sample
[[nodiscard]] Scene power_chart(const PowerCourse& course, const SceneSpace& space);

}  // namespace foretrain
