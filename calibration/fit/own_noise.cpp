// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/own_fit.hpp"

#include <cmath>

#include "models/grid/stage_layout.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {
namespace {

// In units of the noise of a plain run: of a run with expert ranks, of each doubling of context
// ranks, and of a step that is launches or exchanges of gradients alone.
// calibration/docs/own-runs.md.
constexpr double of_experts = 2.0;
constexpr double of_context_doubling = 2.0;
constexpr double of_launches = 5.0;
constexpr double of_gradients = 12.0;

}  // namespace

double own_noise_factor(const Job& job) {
  const StepForecast step = step_time(job, stage_layout(job.model, job.parallel));
  double variance = 1.0;
  const auto add = [&](double factor) { variance += factor * factor; };
  if (job.parallel.expert > 1) add(of_experts);
  add(of_context_doubling * std::log2(job.parallel.context));
  add(of_launches * (step.breakdown.launch / step.time));
  add(of_gradients * (step.breakdown.data / step.time));
  return std::sqrt(variance);
}

}  // namespace foretrain
