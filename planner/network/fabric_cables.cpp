// SPDX-License-Identifier: Apache-2.0

#include "planner/network/internal/fabric_cables.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "models/base/ranges.hpp"
#include "planner/network/fabric_text.hpp"

namespace foretrain {
namespace {

bool is_down(const LinkSet& down, LinkId link) {
  return down[index(link)] || down[index(link ^ 1)];
}

int drawn_of(const Fabric& fabric, NodeId node) {
  const NodeId first_leaf = fabric.node(NodeKind::leaf, 0);
  if (node >= first_leaf) return fabric.spec.hosts + node - first_leaf;
  if (node < fabric.gpus()) return node / fabric.spec.host.gpus;
  const NodeId first_nic = fabric.node(NodeKind::nic, 0);
  if (node >= first_nic) return (node - first_nic) / fabric.spec.host.nics;
  return first_drawn_domain(fabric) + node - fabric.node(NodeKind::host_switch, 0);
}

/// One after the other, the links that leave hosts: NVLink of domains that join several, then
/// cables of NICs and switches.
template <class Visit>
void for_cables_outside(const Fabric& fabric, Visit visit) {
  if (fabric.spec.domain_hosts > 1)
    for (LinkId link = 0; link < fabric.first_nic_link; link += 2)
      if (fabric.kind[index(link)] == LinkKind::gpu_link) visit(link, true);
  for (LinkId link = fabric.first_nic_link; link < fabric.links(); link += 2) visit(link, false);
}

}  // namespace

std::vector<CableCount> count_cables(const Fabric& fabric, const LinkSet& down) {
  std::array<CableCount, EnumNames<LinkKind>::names.size()> counts;
  for (LinkId link = 0; link < fabric.links(); link += 2) {
    CableCount& count = counts[static_cast<std::size_t>(fabric.kind[index(link)])];
    count.kind = fabric.kind[index(link)];
    ++count.cables;
    count.down += is_down(down, link) ? 1 : 0;
    count.rate = max(count.rate, BytesPerSecond{fabric.capacity[index(link)]});
  }
  std::vector<CableCount> present;
  std::ranges::copy_if(counts, std::back_inserter(present),
                       [](const CableCount& count) { return count.cables > 0; });
  return present;
}

int first_drawn_domain(const Fabric& fabric) {
  return fabric.spec.hosts + fabric.nodes() - fabric.node(NodeKind::leaf, 0);
}

int drawn_nodes(const Fabric& fabric) {
  const int domains = fabric.spec.domain_hosts > 1 ? fabric.count(NodeKind::host_switch) : 0;
  return first_drawn_domain(fabric) + domains;
}

std::vector<Bundle> bundles(const Fabric& fabric, const LinkSet& down,
                            const std::vector<double>& use) {
  std::map<std::pair<int, int>, Bundle> found;
  if (fabric.count(NodeKind::nic) == 0) return {};
  for_cables_outside(fabric, [&](LinkId link, bool scale_up) {
    int below = drawn_of(fabric, fabric.from[index(link)]);
    int above = drawn_of(fabric, fabric.to[index(link)]);
    if (scale_up) std::swap(below, above);
    Bundle& bundle = found[{below, above}];
    bundle.below = below;
    bundle.above = above;
    ++bundle.cables;
    bundle.down += is_down(down, link) ? 1 : 0;
    bundle.rate = BytesPerSecond{fabric.capacity[index(link)]};
    if (!use.empty()) bundle.use = std::max({bundle.use, use[index(link)], use[index(link ^ 1)]});
  });
  std::vector<Bundle> result;
  result.reserve(found.size());
  for (const auto& entry : found) result.push_back(entry.second);
  return result;
}

namespace {

/// Leaves, spines, cores and NVSwitches of domains one by one, hosts whole.
std::string drawn_name(const Fabric& fabric, int drawn) {
  const int domain = drawn - first_drawn_domain(fabric);
  if (domain >= 0) return node_name(fabric, fabric.node(NodeKind::host_switch, domain));
  return drawn < fabric.spec.hosts
             ? "host" + std::to_string(drawn)
             : node_name(fabric, fabric.node(NodeKind::leaf, drawn - fabric.spec.hosts));
}

/// A frame round the hosts of every domain and their NVSwitch.
std::string domains_dot(const Fabric& fabric) {
  std::string dot;
  const int first = first_drawn_domain(fabric);
  const int hosts = fabric.spec.domain_hosts;
  for (int domain = 0; domain < drawn_nodes(fabric) - first; ++domain) {
    const std::string name = drawn_name(fabric, first + domain);
    const int end = std::min(fabric.spec.hosts, (domain + 1) * hosts);
    dot +=
        fmt::format("  subgraph cluster_{} {{ label=\"NVLink domain {}\"; {};", name, domain, name);
    for (int host = domain * hosts; host < end; ++host) dot += fmt::format(" host{};", host);
    dot += " }\n";
  }
  return dot;
}

}  // namespace

std::string fabric_dot(const FabricReport& report) {
  const Fabric& fabric = report.fabric;
  std::string dot =
      "graph fabric {\n  rankdir=BT;\n  node [shape=box, style=filled, fillcolor=\"#eef3fa\"];\n";
  const int drawn = drawn_nodes(fabric);
  for (int node = 0; node < drawn; ++node) dot += fmt::format("  {};\n", drawn_name(fabric, node));
  for (const NodeKind kind : {NodeKind::leaf, NodeKind::spine, NodeKind::core}) {
    if (fabric.count(kind) == 0) continue;
    dot += "  { rank=same;";
    for (int i = 0; i < fabric.count(kind); ++i)
      dot += " " + node_name(fabric, fabric.node(kind, i)) + ";";
    dot += " }\n";
  }
  dot += domains_dot(fabric);
  for (const Bundle& bundle : bundles(fabric, report.down))
    dot += fmt::format(
        "  {} -- {} [label=\"{} x {}\"{}];\n", drawn_name(fabric, bundle.below),
        drawn_name(fabric, bundle.above), bundle.cables, bandwidth_text(bundle.rate),
        bundle.down == 0
            ? ""
            : fmt::format(", color=red, style=dashed, tooltip=\"{} down\"", bundle.down));
  return dot + "}\n";
}

}  // namespace foretrain
