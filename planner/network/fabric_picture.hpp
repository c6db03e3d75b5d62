// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/base/prediction.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// Hosts, leaves, spines, cores or NVLink domains; neighbours share a box where there are more
/// nodes than boxes.
struct FabricTier {
  const char* word = "";
  const char* words = "";
  NodeKind kind = NodeKind::leaf;  ///< nic: hosts, which stand for all inside them; host_switch:
                                   ///< the NVSwitches of domains that join several hosts
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

/// What a frame goes round: the hosts of an NVLink domain, or of those that share a box.
struct FabricDomain {
  int first_box = 0;  ///< of the hosts' tier
  int last_box = 0;
  int gpus = 0;    ///< that the NVSwitches join, of all domains of the box
  int places = 0;  ///< GPUs that whole domains have
};

/// What a drawing of a fabric shows.
struct FabricPicture {
  std::vector<FabricTier> tiers;          ///< from the top; those without nodes left out
  std::vector<FabricLine> lines;          ///< by upper place, then lower place
  std::vector<std::vector<int>> cut_off;  ///< nodes that lost all their cables, by tier and box
  /// By box of the last tier, which then is that of domains; empty where NVLink ends at the host.
  std::vector<FabricDomain> domains;

  /// Of the hosts' tier.
  [[nodiscard]] std::size_t hosts() const { return tiers.size() - (domains.empty() ? 1 : 2); }
};

/// @param use share of the rate by link, empty: not known
/// @param most_boxes in a tier
[[nodiscard]] FabricPicture fabric_picture(const Fabric& fabric, const LinkSet& down,
                                           const std::vector<double>& use, int most_boxes);

/// What is written on the NVSwitch of a domain, from the longest to the shortest: "NVLink domain 0:
/// 64 of 72 GPUs", "domain 0: 64 GPUs", "domain 0", "0".
[[nodiscard]] std::vector<std::string> domain_labels(const FabricPicture& picture, int box);

/// What is written on every NVSwitch: the longest form that fits on all domains as large as the
/// first, and on smaller ones the longest that fits; empty where none does.
/// @param fits whether a text fits on the box of that number
[[nodiscard]] std::vector<std::string> domain_texts(
    const FabricPicture& picture, const std::function<bool(const std::string&, int)>& fits);

/// "leaves 3-5" and the like, or the name of the only node.
[[nodiscard]] std::string box_name(const FabricTier& tier, int box);

/// Shares of links by LinkId from those that a forecast lists; links that it does not list have
/// none. Names that the fabric does not have are left out.
[[nodiscard]] std::vector<double> link_shares(const Fabric& fabric,
                                              const std::vector<LinkUse>& links);

}  // namespace foretrain
