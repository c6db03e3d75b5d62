// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/base/names.hpp"

namespace foretrain {

/// How far a number can be trusted.
enum class Trust { measured, interpolated, extrapolated, datasheet };
FORETRAIN_ENUM_NAMES(Trust, {Trust::measured, "measured"}, {Trust::interpolated, "interpolated"},
                     {Trust::extrapolated, "extrapolated"}, {Trust::datasheet, "datasheet"});

/// Where constants come from and how well they reproduced it.
struct Provenance {
  Trust trust = Trust::datasheet;
  std::string source;  ///< what was measured, by whom
  std::string date;    ///< ISO date of the source or of the fit
  /// Median absolute relative error against the source, 0..1; negative: not known.
  double error = -1.0;
  /// The user's own file that stands before the shipped one; empty: shipped.
  std::string own_file = {};
};

}  // namespace foretrain
