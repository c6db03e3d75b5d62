// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/base/prediction.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// Hosts, leaves, spines or cores; neighbours share a box where there are more nodes than boxes.
struct FabricTier {
  const char* word = "";
  const char* words = "";
  NodeKind kind = NodeKind::leaf;  ///< nic: hosts, which stand for all inside them
  int first = 0;                   ///< drawn node, see internal/fabric_cables.hpp
  int count = 0;
  int per_box = 1;
  int boxes = 0;

  [[nodiscard]] int first_of(int box) const { return box * per_box; }
  [[nodiscard]] int last_of(int box) const;
};

/// Where a box stands.
struct FabricPlace {
  std::size_t tier = 0;
  int box = 0;

  friend auto operator<=>(const FabricPlace&, const FabricPlace&) = default;
};

/// All cables between two boxes.
struct FabricLine {
  FabricPlace above;
  FabricPlace below;
  int cables = 0;
  int down = 0;
  BytesPerSecond rate;  ///< of one cable, per direction
  double use = 0.0;     ///< of the busiest direction of the busiest cable

  [[nodiscard]] BytesPerSecond capacity() const { return (cables - down) * rate; }
};

/// What a drawing of a fabric shows.
struct FabricPicture {
  std::vector<FabricTier> tiers;          ///< from the top; those without nodes left out
  std::vector<FabricLine> lines;          ///< by upper place, then lower place
  std::vector<std::vector<int>> cut_off;  ///< nodes that lost all their cables, by tier and box
};

/// @param use share of the rate by link, empty: not known
/// @param most_boxes in a tier
[[nodiscard]] FabricPicture fabric_picture(const Fabric& fabric, const LinkSet& down,
                                           const std::vector<double>& use, int most_boxes);

/// "leaves 3-5" and the like, or the name of the only node.
[[nodiscard]] std::string box_name(const FabricTier& tier, int box);

/// Shares of links by LinkId from those that a forecast lists; links that it does not list have
/// none. Names that the fabric does not have are left out.
[[nodiscard]] std::vector<double> link_shares(const Fabric& fabric,
                                              const std::vector<LinkUse>& links);

/// Across the worst halving of the fabric, see topologies/fabrics/fabric_checks.hpp.
[[nodiscard]] std::optional<BytesPerSecond> fabric_bisection(const Fabric& fabric);

}  // namespace foretrain
