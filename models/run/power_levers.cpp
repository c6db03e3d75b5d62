// SPDX-License-Identifier: Apache-2.0
#include "models/run/power_levers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/run/machine_power.hpp"

namespace foretrain {
namespace {

PowerLever lever_of(const Job& job, const StepForecast& step, std::string name) {
  const GpuPower gpu = gpu_power(job);
  return {std::move(name), step.time, step.time * training_power(job, step),
          at_the_meter(job, gpu.busy), at_the_meter(job, gpu.waiting)};
}

PowerLever floor_lever(Job job, const StepForecast& step, double floor) {
  job.operations.power.floor = std::max(floor, job.operations.power.floor.value_or(0.0));
  return lever_of(job, step, fmt::format("floor of {:.0f} %", 100.0 * floor));
}

PowerLever cap_lever(Job job, StepForecast step, double cap) {
  const double slower = std::sqrt(1.0 / cap);
  TimeBreakdown& parts = step.breakdown;
  for (Seconds* part : {&parts.compute, &parts.recompute, &parts.bubble}) {
    step.time += (slower - 1.0) * *part;
    *part *= slower;
  }
  // Hosts still follow the GPUs along the line of today.
  const GpuPower gpu = gpu_power(job);
  GpuPower capped = gpu;
  capped.busy = max(gpu.waiting, cap * gpu.busy);
  for (Watts* draw : {&capped.memory, &capped.exchange}) *draw = min(*draw, capped.busy);
  return {fmt::format("cap of {:.0f} %", 100.0 * cap), step.time,
          step.time * at_the_meter(job, mean_power(capped, step)), at_the_meter(job, capped.busy),
          at_the_meter(job, gpu.waiting)};
}

PowerLever ramp_lever(const Job& job, const StepForecast& step, const GpuCourse& gpus,
                      Seconds over) {
  const GpuPower gpu = gpu_power(job);
  const Watts dynamic = gpu.busy - gpu.waiting;
  Joules burnt;
  Seconds held;
  for (const std::vector<Watts>& stage : gpus.stages) {
    const RampedCourse one = ramped(stage, gpus.sample, dynamic / over, dynamic);
    burnt += one.burnt / static_cast<double>(gpus.stages.size());
    held = max(held, one.held);
  }
  PowerLever lever = lever_of(job, step, fmt::format("ramps of {:g} s", over.value()));
  lever.step += held;
  lever.energy += held * lever.waiting +
                  step.time * (at_the_meter(job, burnt / step.time) - at_the_meter(job, Watts{}));
  return lever;
}

}  // namespace

RampedCourse ramped(const std::vector<Watts>& course, Seconds sample, WattsPerSecond slope,
                    Watts dynamic) {
  RampedCourse result;
  if (course.empty() || !(dynamic > Watts{})) return result;
  const Watts most = sample * slope;
  Watts at = course.front();
  for (const bool counts : {false, true})  // the first round finds where a repeated step begins
    for (const Watts wanted : course) {
      const Watts next = min(max(wanted, at - most), at + most);
      if (counts && next > wanted) result.burnt += sample * (next - wanted);
      if (counts && next < wanted) result.held += sample * ((wanted - next) / dynamic);
      at = next;
    }
  return result;
}

std::vector<PowerLever> power_levers(const Job& job, const StepForecast& step,
                                     const GpuCourse& gpus) {
  std::vector<PowerLever> levers{lever_of(job, step, "as it is")};
  for (const double floor : {0.6, 0.75, 0.9}) levers.push_back(floor_lever(job, step, floor));
  for (const double cap : {0.9, 0.8, 0.7}) levers.push_back(cap_lever(job, step, cap));
  for (const double over : {0.5, 2.0}) levers.push_back(ramp_lever(job, step, gpus, Seconds{over}));
  return levers;
}

}  // namespace foretrain
