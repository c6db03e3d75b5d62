// SPDX-License-Identifier: Apache-2.0
#include "planner/network/fabric_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "models/base/require.hpp"
#include "planner/network/internal/fabric_cables.hpp"
#include "planner/text/format.hpp"
#include "topologies/fabrics/fabric_checks.hpp"

namespace foretrain {
namespace {

std::vector<FabricTier> tiers_of(const Fabric& fabric, int most_boxes) {
  const int leaves = fabric.count(NodeKind::leaf);
  const int spines = fabric.count(NodeKind::spine);
  const int hosts = fabric.spec.hosts;
  std::vector<FabricTier> tiers{
      {"core", "cores", NodeKind::core, hosts + leaves + spines, fabric.count(NodeKind::core)},
      {"spine", "spines", NodeKind::spine, hosts + leaves, spines},
      {"leaf", "leaves", NodeKind::leaf, hosts, leaves},
      {"host", "hosts", NodeKind::nic, 0, hosts}};
  std::erase_if(tiers, [](const FabricTier& tier) { return tier.count == 0; });
  for (FabricTier& tier : tiers) {
    tier.per_box = (tier.count + most_boxes - 1) / most_boxes;
    tier.boxes = (tier.count + tier.per_box - 1) / tier.per_box;
  }
  return tiers;
}

FabricPlace place_of(const std::vector<FabricTier>& tiers, int drawn) {
  for (std::size_t t = 0; t < tiers.size(); ++t)
    if (tiers[t].first <= drawn && drawn < tiers[t].first + tiers[t].count)
      return {t, (drawn - tiers[t].first) / tiers[t].per_box};
  return {};
}

void count_cut_off(const std::map<int, std::pair<int, int>>& at, FabricPicture& picture) {
  for (const FabricTier& tier : picture.tiers)
    picture.cut_off.emplace_back(static_cast<std::size_t>(tier.boxes), 0);
  for (const auto& [node, cables] : at) {
    if (cables.first != cables.second) continue;
    const FabricPlace place = place_of(picture.tiers, node);
    ++picture.cut_off[place.tier][static_cast<std::size_t>(place.box)];
  }
}

}  // namespace

int FabricTier::last_of(int box) const { return std::min(count, (box + 1) * per_box) - 1; }

FabricPicture fabric_picture(const Fabric& fabric, const LinkSet& down,
                             const std::vector<double>& use, int most_boxes) {
  FORETRAIN_REQUIRE(most_boxes >= 1);
  FabricPicture picture;
  picture.tiers = tiers_of(fabric, most_boxes);
  std::map<std::pair<FabricPlace, FabricPlace>, FabricLine> joined;
  std::map<int, std::pair<int, int>> at;  // cables and those down, by drawn node
  for (const Bundle& bundle : bundles(fabric, down, use)) {
    const FabricPlace above = place_of(picture.tiers, bundle.above);
    const FabricPlace below = place_of(picture.tiers, bundle.below);
    FabricLine& line = joined[{above, below}];
    line.above = above;
    line.below = below;
    line.cables += bundle.cables;
    line.down += bundle.down;
    line.rate = max(line.rate, bundle.rate);
    line.use = std::max(line.use, bundle.use);
    for (const int node : {bundle.below, bundle.above}) {
      at[node].first += bundle.cables;
      at[node].second += bundle.down;
    }
  }
  for (const auto& entry : joined) picture.lines.push_back(entry.second);
  count_cut_off(at, picture);
  return picture;
}

std::string box_name(const FabricTier& tier, int box) {
  const int first = tier.first_of(box);
  const int last = tier.last_of(box);
  if (first == last) return fmt::format("{} {}", tier.word, first);
  return fmt::format("{} {}-{}", tier.words, with_thousands(first), with_thousands(last));
}

std::vector<double> link_shares(const Fabric& fabric, const std::vector<LinkUse>& links) {
  std::vector<double> shares;
  if (links.empty()) return shares;
  shares.assign(static_cast<std::size_t>(fabric.links()), 0.0);
  std::unordered_map<std::string, double> listed;
  for (const LinkUse& link : links) listed[link.name] = link.utilisation;
  for (LinkId link = 0; link < fabric.links() && !listed.empty(); ++link) {
    const auto found = listed.find(link_name(fabric, link));
    if (found == listed.end()) continue;
    shares[static_cast<std::size_t>(link)] = found->second;
    listed.erase(found);
  }
  return shares;
}

std::optional<BytesPerSecond> fabric_bisection(const Fabric& fabric) {
  if (fabric.spec.hosts < 2) return std::nullopt;
  return closed_form_bisection(fabric);
}

}  // namespace foretrain
