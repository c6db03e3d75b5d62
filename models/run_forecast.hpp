// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/job.hpp"
#include "models/prediction.hpp"

namespace foretrain {

/// Share of wall time that a job spends on steps that last, given interruptions at a mean distance,
/// a restart after each, and checkpoints. In expectation (Meta, arXiv 2410.21680, ETTR):
///   (1 - (restart + every / 2) / between) / (1 + stall / every)
struct Interruptions {
  Seconds between;  ///< mean time between interruptions of the whole job
  Seconds restart;  ///< detection, rescheduling, reload
  Seconds every;    ///< between checkpoints
  Seconds stall;    ///< that one checkpoint stops training
};

/// In 0..1; 0 when an interruption costs more than the time between two.
/// @pre between, every > 0; restart, stall >= 0.
[[nodiscard]] double goodput(const Interruptions& interruptions);

/// Steps, days and their expectation. What the scenario does not say stays absent, with a warning
/// where something else in `operations` shows that the user wants it.
[[nodiscard]] RunForecast forecast_run(const Job& job, Seconds step,
                                       std::vector<Warning>& warnings);

/// GPU-hours of the expected run (the ideal one where nothing is known about interruptions) and
/// their price. Energy and carbon are absent: they need power states.
[[nodiscard]] CostForecast forecast_cost(const Job& job, const RunForecast& run);

}  // namespace foretrain
