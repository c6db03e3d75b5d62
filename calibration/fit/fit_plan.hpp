// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/fit/profile_constant.hpp"
#include "calibration/records/run_catalog.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// One free number of a fit: the same constant in one or more profiles. Fitted as its logarithm.
struct FitConstant {
  std::vector<std::string> keys;     ///< in the profiles' files; all get the value
  std::vector<ProfileRef> profiles;  ///< that share it
  double prior = 0.0;                ///< base units; what it is worth without any record
  double width = 0.0;                ///< standard deviation of ln(value / prior)
  /// The prior is this free constant instead (index into FitPlan::constants).
  std::optional<std::size_t> like;
  double low = 0.0;  ///< bounds, base units
  double high = 0.0;
  std::string from = {};  ///< where the prior comes from, in words

  /// "stack/megatron-core times.head".
  [[nodiscard]] std::string text() const;
};

/// Part of a source that is left out by itself: another machine or model of the same author.
struct SourcePart {
  std::string source;                 ///< family of records
  std::string name;                   ///< of the part, shown after the family's
  std::vector<std::string> contains;  ///< any of these in the record's id
};

/// What a fit moves and what it trusts. Data: calibration/fits.
struct FitPlan {
  double noise = 0.0;  ///< standard deviation of ln(measured) between runs of one configuration
  double tail =
      0.0;  ///< error, in units of noise, from where an error counts no more than linearly
  double rows = 0.0;  ///< records that a source (within a group) counts for at most
  std::map<std::string, double> grades;  ///< weight of a record by its confidence
  double band_rows = 0.0;                ///< records that the prior of a stack's band is worth
  double band_width = 0.0;               ///< standard deviation of that prior
  std::optional<double> minimum;         ///< objective that the fit reached last
  std::vector<FitConstant> constants;
  std::vector<SourcePart> parts;

  /// Profiles with a free constant, each once.
  [[nodiscard]] std::vector<ProfileRef> profiles() const;
};

/// Reads a plan; `name` is what messages call the file. Profiles and keys have to be known to the
/// catalog. A prior `like` one that is not free is that profile's value in the catalog.
[[nodiscard]] std::optional<FitPlan> read_fit_plan(const std::string& text, const std::string& name,
                                                   RunCatalog& catalog, Diagnostics& diagnostics);

/// The plan without these profiles. What is like one of their constants keeps its prior, as a
/// number.
[[nodiscard]] FitPlan without_profiles(const FitPlan& plan, const std::vector<ProfileRef>& out);

}  // namespace foretrain
