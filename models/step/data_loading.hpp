// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// What the input of one step needs, each limit on its own.
struct InputTimes {
  std::optional<Seconds> workers;  ///< loader processes, as many as the hosts have cores for
  std::optional<Seconds> storage;  ///< reading from storage
  double wanted_cores = 0.0;       ///< loader processes per host
  double cores = 0.0;              ///< per host; 0: unknown

  [[nodiscard]] Seconds slowest() const;
};

/// Every data-parallel rank reads its own sequences with `workers` processes of its own, one core
/// each; more processes than cores share them.
[[nodiscard]] InputTimes input_times(const Job& job);

/// The step where loading takes part: the longer of both. What a search ranks by.
[[nodiscard]] Seconds with_input(const Job& job, Seconds step);

/// Loading runs beside the step that comes before it: what does not hide behind the step is added
/// to it as `input`, with a warning that names the bottleneck.
void add_input(const Job& job, StepForecast& step, std::vector<Warning>& warnings);

}  // namespace foretrain
