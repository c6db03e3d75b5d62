// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"

namespace foretrain {

/// Why a step's band is as wide as it is: what is not known of the plan.
enum class BandKind : std::uint8_t {
  pooled,
  residual,
  stack,
  device,
  site,
  network,
  scale,
  tensor,
  experts,
  precision,
  launch,
  memory,
  exposed,
  release
};
FORETRAIN_ENUM_NAMES(BandKind, {BandKind::pooled, "pooled"}, {BandKind::residual, "residual"},
                     {BandKind::stack, "stack"}, {BandKind::device, "device"},
                     {BandKind::site, "site"}, {BandKind::network, "network"},
                     {BandKind::scale, "scale"}, {BandKind::tensor, "tensor"},
                     {BandKind::experts, "experts"}, {BandKind::precision, "precision"},
                     {BandKind::launch, "launch"}, {BandKind::memory, "memory"},
                     {BandKind::exposed, "exposed"}, {BandKind::release, "release"});
inline constexpr std::size_t band_kinds = 14;

/// To either side of a step, as a share of it. Of a kind: its width; of a plan: how often it
/// counts.
struct BandSides {
  double low = 0.0;
  double high = 0.0;

  friend bool operator==(const BandSides&, const BandSides&) = default;
};

using BandByKind = std::array<BandSides, band_kinds>;

[[nodiscard]] inline BandSides& at(BandByKind& kinds, BandKind kind) {
  return kinds.at(static_cast<std::size_t>(kind));
}
[[nodiscard]] inline const BandSides& at(const BandByKind& kinds, BandKind kind) {
  return kinds.at(static_cast<std::size_t>(kind));
}

/// What the runs have that a stack's constants were fitted on.
struct StackReach {
  int runs = 0;
  std::vector<std::string> devices;    ///< and those of the same chip
  int gpus = 0;                        ///< at most
  int tensor = 0;                      ///< likewise
  std::optional<int> first_year = {};  ///< of their software, where that is known
  std::optional<int> last_year = {};
};

/// Widths by kind, fitted on runs that were left out of the fit, and how far the fit of each stack
/// reaches. Data: calibration/fits/bands.yaml.
struct BandTable {
  BandByKind widths{};
  BandSides unmeasured_site;  ///< the least of a plan on a cluster that nobody measured
  std::map<std::string, StackReach> reach;  ///< by stack; those without a run are not there
};

}  // namespace foretrain
