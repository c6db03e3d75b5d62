// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {

/// Chunked scans and indexers, which nobody measured here: what of the step is in doubt, of all
/// layers, as many to each stage. Adds a warning that says so.
[[nodiscard]] double scan_uncertainty(const Job& job, const StepForecast& step,
                                      std::vector<Warning>& warnings);
/// A vision tower, of which no run was measured either: the same of its passes.
[[nodiscard]] double tower_uncertainty(const Job& job, const StepForecast& step,
                                       std::vector<Warning>& warnings);
/// 8-bit attention, and context ranks that do not send blocks round a ring.
void warn_of_unmeasured_attention(const Job& job, std::vector<Warning>& warnings);

/// Parts of layers that no measured run had.
void warn_of_unmeasured_layers(const Job& job, std::vector<Warning>& warnings);

/// Attention with a window: no windowed kernel was measured.
void warn_of_windows(const Job& job, std::vector<Warning>& warnings);

}  // namespace foretrain
