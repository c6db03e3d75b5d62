// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/band_table.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// What of a plan is not known, by kind: how often its width counts. Doublings beyond what was
/// fitted (scale, tensor), shares of the step (network, residual), else 0 or 1.
[[nodiscard]] BandByKind band_facts(const Job& job, const StepForecast& step);

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
