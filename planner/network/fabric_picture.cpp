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

/// Boxes of hosts hold a part of a domain that divides it, or whole domains.
int aligned(int per_box, int domain_hosts) {
  if (per_box > domain_hosts) return (per_box + domain_hosts - 1) / domain_hosts * domain_hosts;
  while (domain_hosts % per_box != 0) ++per_box;
  return per_box;
}

std::vector<FabricTier> tiers_of(const Fabric& fabric, int most_boxes) {
  const int domain_hosts = fabric.spec.domain_hosts;
  const int leaves = fabric.count(NodeKind::leaf);
  const int spines = fabric.count(NodeKind::spine);
  const int hosts = fabric.spec.hosts;
  std::vector<FabricTier> tiers{
      {"core", "cores", NodeKind::core, hosts + leaves + spines, fabric.count(NodeKind::core)},
      {"spine", "spines", NodeKind::spine, hosts + leaves, spines},
      {"leaf", "leaves", NodeKind::leaf, hosts, leaves},
      {"host", "hosts", NodeKind::nic, 0, hosts},
      {"NVLink domain", "NVLink domains", NodeKind::host_switch, first_drawn_domain(fabric),
       drawn_nodes(fabric) - first_drawn_domain(fabric)}};
  std::erase_if(tiers, [](const FabricTier& tier) { return tier.count == 0; });
  for (FabricTier& tier : tiers) {
    tier.per_box = (tier.count + most_boxes - 1) / most_boxes;
    if (tier.kind == NodeKind::nic) tier.per_box = aligned(tier.per_box, domain_hosts);
  }
  // As many domains as the hosts of a box belong to.
  if (tiers.back().kind == NodeKind::host_switch)
    tiers.back().per_box = std::max(1, tiers[tiers.size() - 2].per_box / domain_hosts);
  for (FabricTier& tier : tiers) tier.boxes = (tier.count + tier.per_box - 1) / tier.per_box;
  return tiers;
}

std::vector<FabricDomain> domains_of(const Fabric& fabric, const std::vector<FabricTier>& tiers) {
  std::vector<FabricDomain> domains;
  const FabricTier& last = tiers.back();
  if (last.kind != NodeKind::host_switch) return domains;
  const FabricTier& hosts = tiers[tiers.size() - 2];
  const FabricSpec& spec = fabric.spec;
  for (int box = 0; box < last.boxes; ++box) {
    const int first = last.first_of(box) * spec.domain_hosts;
    const int end = std::min(spec.hosts, (last.last_of(box) + 1) * spec.domain_hosts);
    const int joined = last.last_of(box) - last.first_of(box) + 1;
    domains.push_back({first / hosts.per_box, (end - 1) / hosts.per_box,
                       (end - first) * spec.host.gpus,
                       joined * std::max(spec.domain_places, spec.domain_hosts) * spec.host.gpus});
  }
  return domains;
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
  picture.domains = domains_of(fabric, picture.tiers);
  return picture;
}

std::vector<std::string> domain_labels(const FabricPicture& picture, int box) {
  const FabricTier& tier = picture.tiers.back();
  const FabricDomain& domain = picture.domains[static_cast<std::size_t>(box)];
  const int first = tier.first_of(box);
  const int last = tier.last_of(box);
  const std::string range =
      first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
  const char* const word = first == last ? "domain" : "domains";
  const std::string part =
      domain.gpus == domain.places ? "" : fmt::format(" of {}", with_thousands(domain.places));
  const std::string gpus = with_thousands(domain.gpus);
  return {fmt::format("NVLink {} {}: {}{} GPUs", word, range, gpus, part),
          fmt::format("{} {}: {} GPUs", word, range, gpus), fmt::format("{} {}", word, range),
          range};
}

std::vector<std::string> domain_texts(const FabricPicture& picture,
                                      const std::function<bool(const std::string&, int)>& fits) {
  std::vector<std::vector<std::string>> labels;
  const auto level = [&](int box) {
    const auto& forms = labels[static_cast<std::size_t>(box)];
    const auto found =
        std::ranges::find_if(forms, [&](const std::string& form) { return fits(form, box); });
    return found - forms.begin();
  };
  std::ptrdiff_t common = 0;
  const int boxes = static_cast<int>(picture.domains.size());
  const auto whole = [&](int box) {
    return picture.domains[static_cast<std::size_t>(box)].gpus == picture.domains.front().gpus;
  };
  for (int box = 0; box < boxes; ++box) {
    labels.push_back(domain_labels(picture, box));
    if (whole(box)) common = std::max(common, level(box));
  }
  std::vector<std::string> texts;
  for (int box = 0; box < boxes; ++box) {
    const auto form = static_cast<std::size_t>(whole(box) ? common : std::max(common, level(box)));
    const auto& forms = labels[static_cast<std::size_t>(box)];
    texts.push_back(form < forms.size() ? forms[form] : std::string{});
  }
  return texts;
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

}  // namespace foretrain
