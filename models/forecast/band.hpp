// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/band_table.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

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
