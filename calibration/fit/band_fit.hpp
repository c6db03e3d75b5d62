// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/fit/fold.hpp"
#include "models/inputs/band_table.hpp"

namespace foretrain {

/// A forecast of a run that its fit had not read.
struct BandCase {
  FoldAxis axis = FoldAxis::source;
  std::string family;  ///< source of the run, whatever it was left out with
  double error = 0.0;  ///< ln(measured / predicted)
  BandByKind facts{};  ///< what was not known (models/forecast/band.hpp)
  /// Widths are fitted on it. Hybrids have a doubt of their own; most runs with adapters multiply
  /// queries and keys in 8 bits, which is not modelled.
  bool widens = true;
};

/// What bands hold, from their 10th to their 90th percentile.
inline constexpr double band_coverage = 0.8;

/// The widths whose bands have the least interval score over the cases (Gneiting, Raftery: Strictly
/// proper scoring rules, JASA 102, 2007, section 6.2), a family within an axis counting no more
/// than `rows` cases. Each side is a quantile of its own. Families agree more among themselves than
/// with the next one: widths are then multiplied so that, each family held by widths fitted without
/// it, bands hold band_coverage (cross-conformal prediction, Vovk 2015). A kind that explains no
/// case has no width. Deterministic. @pre there is a case
[[nodiscard]] BandByKind fit_band_widths(const std::vector<BandCase>& cases, double rows);

/// Whether the measurement is in the band, scaled to hold `coverage` of a normal error.
[[nodiscard]] bool in_band(const BandCase& at, const BandSides& band,
                           double coverage = band_coverage);
/// The interval score of a band in ln of time: its width, and ten times what it misses by.
[[nodiscard]] double interval_score(const BandCase& at, const BandSides& band);

/// How bands do on cases; a family within an axis counts no more than `rows` cases.
struct BandScore {
  int cases = 0;
  double weight = 0.0;
  double covered = 0.0;
  double score = 0.0;  ///< mean interval score
  double width = 0.0;  ///< mean, both sides together
};
struct BandCheck {
  BandScore all;
  double every_case = 0.0;  ///< coverage where every case counts the same
  std::vector<std::pair<FoldAxis, BandScore>> axes;
  std::vector<std::pair<std::string, BandScore>> families;  ///< when their own source was left out
  double constant = 0.0;  ///< width of the best symmetric band that is the same for all, a share
  BandScore constant_all;
  std::vector<std::pair<double, double>> reliability;  ///< nominal coverage, observed
};
/// Every case with widths fitted without its family.
[[nodiscard]] BandCheck check_bands(const std::vector<BandCase>& cases, double rows);

}  // namespace foretrain
