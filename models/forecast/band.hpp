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

/// Years of the software that the constants of the job's stack describe.
[[nodiscard]] SoftwareYears software_years(const Job& job);

/// What of a plan is not known, by kind: how often its width counts. Doublings beyond what was
/// fitted (scale, tensor), years outside it (release), shares of the step (residual, exposed), what
/// it takes longer with half the NICs, twice the launches or half as slow again experts (network,
/// launch, experts), else 0 or 1.
[[nodiscard]] BandByKind band_facts(const Job& job, const StepForecast& step);

/// add_band() of step_time.hpp where the facts are known: they price the step several times.
void add_band(const Job& job, const BandByKind& facts, StepForecast& step,
              std::vector<Warning>& warnings);

/// Widths times how often they count, added up as the root of squares.
[[nodiscard]] BandSides band_of(const BandByKind& facts, const BandByKind& widths);

/// One reason for a band's width; parts add up as the root of squares.
struct BandPart {
  std::string name;  ///< "site"
  BandSides width;   ///< shares of the step
  std::string why;
  std::string narrower;  ///< what would make it smaller; empty: nothing that can be measured
};

/// The reasons for the band of a step, without those that add nothing, the widest first.
[[nodiscard]] std::vector<BandPart> band_parts(const Job& job, const StepForecast& step);

}  // namespace foretrain
