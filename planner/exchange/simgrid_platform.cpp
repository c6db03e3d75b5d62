// SPDX-License-Identifier: Apache-2.0
#include "planner/exchange/simgrid_platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "topologies/routes/routing.hpp"

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

std::string host_line(const Fabric& fabric, NodeId node, double speed) {
  return fmt::format("    <host id=\"{}\" speed=\"{:.10g}f\"/>\n", node_name(fabric, node), speed);
}

std::string link_line(const std::string& id, double bandwidth, Seconds latency) {
  return fmt::format("    <link id=\"{}\" bandwidth=\"{:.10g}Bps\" latency=\"{:.10g}s\"/>\n", id,
                     bandwidth, latency.value());
}

std::string between(const Fabric& fabric, NodeId from, NodeId to) {
  return node_name(fabric, from) + "-to-" + node_name(fabric, to);
}

/// Every way between two GPUs as route() gives it.
std::string routed_zone(const Fabric& fabric, const Cluster& cluster, double speed,
                        std::uint64_t seed) {
  std::string text;
  for (NodeId gpu = 0; gpu < fabric.gpus(); ++gpu) text += host_line(fabric, gpu, speed);
  std::map<std::pair<NodeId, NodeId>, int> parallel;
  std::vector<std::string> ids;
  for (std::size_t link = 0; link < fabric.capacity.size(); ++link) {
    const int earlier = parallel[{fabric.from[link], fabric.to[link]}]++;
    ids.push_back(between(fabric, fabric.from[link], fabric.to[link]) +
                  (earlier > 0 ? fmt::format("-{}", earlier) : ""));
    text += link_line(ids.back(), fabric.capacity[link], latency_of(fabric.kind[link], cluster));
  }
  RouteChoice choice;
  choice.seed = seed;
  std::vector<LinkId> links;
  for (NodeId from = 0; from < fabric.gpus(); ++from)
    for (NodeId to = 0; to < fabric.gpus(); ++to) {
      if (from == to || !route(fabric, from, to, choice, links)) continue;
      text += fmt::format("    <route src=\"{}\" dst=\"{}\" symmetrical=\"NO\">",
                          node_name(fabric, from), node_name(fabric, to));
      for (const LinkId link : links)
        text += fmt::format("<link_ctn id=\"{}\"/>", ids[static_cast<std::size_t>(link)]);
      text += "</route>\n";
    }
  return text;
}

/// Neighbours only; parallel cables are one link.
std::string dijkstra_zone(const Fabric& fabric, const Cluster& cluster, double speed) {
  // Both sums go from one node to another.
  std::map<std::pair<NodeId, NodeId>, std::pair<double, Seconds>> cables;
  for (LinkId link = 0; link < fabric.links(); ++link) {
    const auto i = static_cast<std::size_t>(link);
    auto& cable = cables[{fabric.from[i], fabric.to[i]}];
    cable.first += fabric.capacity[i];
    cable.second = latency_of(fabric.kind[i], cluster);
  }
  std::string text;
  for (NodeId node = 0; node < fabric.nodes(); ++node)
    text += fabric.kind_of(node) == NodeKind::gpu
                ? host_line(fabric, node, speed)
                : fmt::format("    <router id=\"{}\"/>\n", node_name(fabric, node));
  for (const auto& [ends, cable] : cables)
    text += link_line(between(fabric, ends.first, ends.second), cable.first, cable.second);
  for (const auto& [ends, cable] : cables)
    text += fmt::format(
        "    <route src=\"{}\" dst=\"{}\" symmetrical=\"NO\"><link_ctn id=\"{}\"/></route>\n",
        node_name(fabric, ends.first), node_name(fabric, ends.second),
        between(fabric, ends.first, ends.second));
  return text;
}

}  // namespace

std::string simgrid_platform(const Fabric& fabric, const Cluster& cluster, const std::string& name,
                             std::uint64_t seed) {
  double speed = 0.0;
  for (const auto& [precision, rate] : cluster.host.device.peak)
    if (precision == Precision::bf16 || speed == 0.0) speed = rate.value();
  const bool routed = fabric.gpus() <= most_routed_gpus;
  std::string text =
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
      "\"https://simgrid.org/simgrid.dtd\">\n";
  text += routed ? fmt::format("<!-- Routes: Foretrain's own, with ECMP seed {}. -->\n", seed)
                 : fmt::format(
                       "<!-- Routes: SimGrid's shortest; Foretrain's own are written for "
                       "{} GPUs at most. -->\n",
                       most_routed_gpus);
  text += fmt::format("<platform version=\"4.1\">\n  <zone id=\"{}\" routing=\"{}\">\n",
                      in_attribute(name), routed ? "Full" : "Dijkstra");
  text +=
      routed ? routed_zone(fabric, cluster, speed, seed) : dijkstra_zone(fabric, cluster, speed);
  return text + "  </zone>\n</platform>\n";
}

}  // namespace foretrain
