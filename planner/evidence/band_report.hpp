// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/fit/band_fit.hpp"
#include "planner/answer/answer.hpp"
#include "planner/evidence/left_out.hpp"

namespace foretrain {

/// Bands fitted on runs that were left out, and how they do on them.
struct BandReport {
  BandTable shipped;
  BandTable fitted;         ///< widths of all cases; what all fitted runs reach
  std::vector<int> counts;  ///< cases that each kind counts in, in the order of kinds
  BandCheck check;          ///< every case by widths that have not seen its family
};

/// @pre a fold was finished
[[nodiscard]] BandReport band_report(const LeftOut& left_out);

/// Widths by kind, coverage and interval score by axis and family.
[[nodiscard]] Answer band_answer(const BandReport& report);
/// As calibration/fits/bands.yaml.
[[nodiscard]] std::string band_report_yaml(const BandReport& report);
/// Every forecast left out as a line: axis, fold, family, run, ln(measured / predicted), and how
/// often each kind of width counts, downwards and upwards.
[[nodiscard]] std::string band_cases_csv(const LeftOut& left_out);
/// Share of the measurements that bands of a nominal coverage hold, as an SVG document.
[[nodiscard]] std::string reliability_svg(const BandReport& report);

}  // namespace foretrain
