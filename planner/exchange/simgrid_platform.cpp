// SPDX-License-Identifier: Apache-2.0
#include "planner/exchange/simgrid_platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace foretrain {
namespace {

Seconds latency_of(LinkKind kind, const Cluster& cluster) {
  switch (kind) {
    case LinkKind::gpu_link:
      return cluster.host.gpu_link.latency;
    case LinkKind::pcie:
      return cluster.host.pcie.latency;
    default:
      return cluster.network.nic_link.latency;
  }
}

std::string in_attribute(const std::string& text) {
  std::string safe;
  for (const char c : text)
    safe += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '"' ? "&quot;" : std::string(1, c);
  return safe;
}

}  // namespace

std::string simgrid_platform(const Fabric& fabric, const Cluster& cluster,
                             const std::string& name) {
  // Both sums go from one node to another.
  std::map<std::pair<NodeId, NodeId>, std::pair<double, Seconds>> cables;
  for (LinkId link = 0; link < fabric.links(); ++link) {
    const auto i = static_cast<std::size_t>(link);
    auto& cable = cables[{fabric.from[i], fabric.to[i]}];
    cable.first += fabric.capacity[i];
    cable.second = latency_of(fabric.kind[i], cluster);
  }
  double speed = 0.0;
  for (const auto& [precision, rate] : cluster.host.device.peak)
    if (precision == Precision::bf16 || speed == 0.0) speed = rate.value();

  std::string text =
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
      "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n";
  text += fmt::format("  <zone id=\"{}\" routing=\"Dijkstra\">\n", in_attribute(name));
  for (NodeId node = 0; node < fabric.nodes(); ++node)
    text += fabric.kind_of(node) == NodeKind::gpu
                ? fmt::format("    <host id=\"{}\" speed=\"{:.10g}f\"/>\n", node_name(fabric, node),
                              speed)
                : fmt::format("    <router id=\"{}\"/>\n", node_name(fabric, node));
  const auto link_id = [&](const std::pair<NodeId, NodeId>& ends) {
    return node_name(fabric, ends.first) + "-to-" + node_name(fabric, ends.second);
  };
  for (const auto& [ends, cable] : cables)
    text += fmt::format("    <link id=\"{}\" bandwidth=\"{:.10g}Bps\" latency=\"{:.10g}s\"/>\n",
                        link_id(ends), cable.first, cable.second.value());
  for (const auto& [ends, cable] : cables)
    text += fmt::format(
        "    <route src=\"{}\" dst=\"{}\" symmetrical=\"NO\"><link_ctn id=\"{}\"/></route>\n",
        node_name(fabric, ends.first), node_name(fabric, ends.second), link_id(ends));
  return text + "  </zone>\n</platform>\n";
}

}  // namespace foretrain
