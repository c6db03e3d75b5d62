// SPDX-License-Identifier: Apache-2.0
#include "models/step/step_schedule.hpp"

#include <cmath>

#include "models/schedules/registry.hpp"

namespace foretrain {
namespace {

constexpr double grain = 64.0;  // steps of a rounded time, of the longest pass

Seconds rounded(Seconds time, Seconds longest) {
  return Seconds{std::round(grain * (time / longest)) / grain};
}

}  // namespace

ScheduleTimes schedule_times(const StepCosts& costs) {
  ScheduleTimes times;
  times.weight_share = costs.weight_share;
  if (traits_of(costs.shape.kind).fitted == Fitted::nothing) return times;
  Seconds longest;
  for (const PieceTimes& chunk : costs.chunks)
    longest = max(longest, max(chunk.forward.total(), chunk.backward().total()));
  if (longest <= Seconds{}) return times;
  times.places.reserve(costs.chunks.size());
  for (const PieceTimes& chunk : costs.chunks)
    times.places.push_back({rounded(chunk.forward.total(), longest),
                            rounded(chunk.input_gradient.total(), longest),
                            rounded(chunk.weight_gradient.total(), longest)});
  Seconds transfers;
  for (const StageCosts& stage : costs.stages) transfers += stage.transfer;
  times.transfer = rounded(transfers / static_cast<double>(costs.stages.size()), longest);
  return times;
}

Schedule step_schedule(const StepCosts& costs) {
  const ScheduleTimes times = schedule_times(costs);
  return times.places.empty() ? make_schedule(costs.shape) : make_schedule(costs.shape, times);
}

}  // namespace foretrain
