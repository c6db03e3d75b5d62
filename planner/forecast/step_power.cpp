// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/step_power.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "models/step/data_loading.hpp"

namespace foretrain {
namespace {

/// Passes of a step that is played for its power alone; milliseconds of work.
constexpr std::int64_t most_power_passes = 50'000;

/// The job with as many micro-batches as may be played: whole rounds of the pipeline.
Job shorter(Job job) {
  const std::int64_t each = std::int64_t{2} * job.parallel.pipeline * job.parallel.virtual_stages;
  const std::int64_t count = job.microbatches();
  if (each * count <= most_power_passes) return job;
  const std::int64_t round = std::max(job.parallel.pipeline, job.parallel.microbatch_group);
  const std::int64_t kept = std::max(std::int64_t{2}, most_power_passes / each / round) * round;
  if (kept < count)
    job.training.global_batch = static_cast<int>(job.training.global_batch / count * kept);
  return job;
}

GpuCourse gpus_of(const Job& job, const StepPath& path) {
  const Seconds time = with_input(job, path.stretch() * path.timeline.makespan);
  return gpu_course(path.graph, path.timeline, path.release, time, gpu_power(job), 1.0 * ms);
}

}  // namespace

PowerCourse step_power(const Job& job, const StepPath& path) {
  return power_course(job, gpus_of(job, path));
}

std::optional<GpuCourse> add_power(const Job& job, const StepPath* played, Prediction& prediction) {
  if (!prediction.step || !(gpu_power(job).busy > Watts{})) return std::nullopt;
  const Job shown = played == nullptr ? shorter(job) : job;
  GpuCourse gpus = played == nullptr
                       ? gpus_of(shown, step_path(shown, stage_layout(shown.model, shown.parallel)))
                       : gpus_of(shown, *played);
  prediction.power = power_forecast(job, *prediction.step, power_course(shown, gpus));
  return gpus;
}

std::string power_csv(const PowerCourse& course) {
  std::string text = "time_s,gpu_w,host_w,rack_w,site_w\n";
  for (std::size_t i = 0; i < course.site.size(); ++i)
    text += fmt::format("{:.6f},{:.2f},{:.1f},{},{:.0f}\n",
                        static_cast<double>(i) * course.sample.value(), course.gpu[i].value(),
                        course.host[i].value(),
                        course.rack.empty() ? "" : fmt::format("{:.0f}", course.rack[i].value()),
                        course.site[i].value());
  return text;
}

}  // namespace foretrain
