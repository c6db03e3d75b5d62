// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibration/fit/profile_constant.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Posterior standard deviations of ln(constant) that the shipped profiles state, by profile and
/// key.
using StatedDeviations = std::map<ProfileRef, std::map<std::string, double, std::less<>>>;

/// A constant of a profile that runs of one's own may move, and what is believed of it before them.
struct OwnConstant {
  ProfileRef profile;
  std::vector<std::string> keys;  ///< one number under each of them
  double shipped = 0.0;           ///< base units
  double width = 0.0;             ///< standard deviation of ln(own / shipped) before any own run
  double most = 0.0;              ///< largest legal value, base units

  /// "site/default lone_share".
  [[nodiscard]] std::string text() const;
};

/// Every constant of the jobs' stacks, sites and devices that is not zero, in the order of layers
/// and keys. Its width is what the shipped records leave open (`stated`) together with how far one
/// cluster differs from the next in it: widely where nobody measured its site, narrowly in what a
/// kernel takes (calibration/docs/own-runs.md).
[[nodiscard]] std::vector<OwnConstant> own_constants(const std::vector<const Job*>& jobs,
                                                     const StatedDeviations& stated);

}  // namespace foretrain
