// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "planner/network/fabric_text.hpp"
#include "planner/network/internal/fabric_cables.hpp"

namespace foretrain {
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
