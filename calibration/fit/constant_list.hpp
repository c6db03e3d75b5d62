// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/fit/collective_fit.hpp"
#include "calibration/fit/kernel_fit.hpp"
#include "calibration/fit/profile_fit.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Where a fitted constant comes from: its prior, and the records that say otherwise. Its value and
/// deviation stand in the profile, what it means in the format of the profile.
struct ConstantLine {
  std::string profile;  ///< "stack/megatron-core"
  std::string key;
  /// The constant whose value this one shares ("device/h200 gemm.bf16.launch"); empty: a free
  /// number of its own.
  std::string as;
  std::string prior;  ///< as a file would write it
  std::string from;   ///< where the prior comes from, in words
  double width = 0.0;
  int records = 0;             ///< the fewest that hold 90 % of what records say of it
  std::string told_by = {};    ///< sources and their percent of what records say, the most first
  std::string fitted_to = {};  ///< "steps", "kernels" or "collectives"
  ConstantReach reach = {};    ///< of those records
  std::string record = {};     ///< the one that says most of it
  std::string kept_out = {};   ///< the one that it moves most among those that no fit reads, if any

  friend bool operator==(const ConstantLine&, const ConstantLine&) = default;
};

/// Every constant that a fit moves, kernels first.
[[nodiscard]] std::vector<ConstantLine> constant_lines(const KernelFit& kernels,
                                                       const CollectiveFit& collectives,
                                                       const ProfileFit& steps);

/// As calibration/fits/constants.csv.
[[nodiscard]] std::string constants_csv(const std::vector<ConstantLine>& lines);
/// Lines that cannot be read become diagnostics under the name `file`.
[[nodiscard]] std::vector<ConstantLine> read_constants_csv(const std::string& text,
                                                           const std::string& file,
                                                           Diagnostics& diagnostics);

/// Whether both list the same constants with the same priors, and records that agree as well as
/// fits on two processors do.
[[nodiscard]] bool same_constants(const std::vector<ConstantLine>& one,
                                  const std::vector<ConstantLine>& other);

}  // namespace foretrain
