// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/band_table.hpp"
#include "models/inputs/job.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {

/// "2024", "2023 to 2025".
[[nodiscard]] std::string years_text(const SoftwareYears& years);

/// Whether the forecast takes 95 % of the usable memory or more, but no more than all: PyTorch's
/// allocator then frees what it cached and asks again, which stops the device.
[[nodiscard]] bool memory_is_tight(const Job& job);

/// One warning for each input of a forecast that no measurement stands behind, and for each reason
/// why runs of this kind vary.
void warn_of_inputs(const Job& job, const StepForecast& step, std::vector<Warning>& warnings);

/// Chunked scans and indexers, which nobody measured here: what of the step is in doubt, of all
/// layers, as many to each stage. Adds a warning that says so.
[[nodiscard]] double scan_uncertainty(const Job& job, const StepForecast& step,
                                      std::vector<Warning>& warnings);
/// A vision tower, of which no run was measured either: the same of its passes.
[[nodiscard]] double tower_uncertainty(const Job& job, const StepForecast& step,
                                       std::vector<Warning>& warnings);

}  // namespace foretrain
