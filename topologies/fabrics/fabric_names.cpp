// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "models/base/ranges.hpp"
#include "models/base/text.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace foretrain {
namespace {

std::string_view leaf_word(const Fabric& fabric) {
  if (std::holds_alternative<std::shared_ptr<const IrregularShape>>(fabric.spec.network))
    return "switch";
  const bool tiers =
      std::holds_alternative<ClosShape>(fabric.spec.network) || fabric.count(NodeKind::spine) > 0;
  return tiers ? "leaf" : "router";
}

std::string_view word_of(const Fabric& fabric, NodeKind kind) {
  switch (kind) {
    case NodeKind::gpu:
      return "gpu";
    case NodeKind::host_switch:
      return fabric.spec.host.scale_up == ScaleUpKind::pcie ? "pcie" : "nvswitch";
    case NodeKind::nic:
      return "nic";
    case NodeKind::leaf:
      return leaf_word(fabric);
    case NodeKind::spine:
      return "spine";
    case NodeKind::core:
      return "core";
  }
  return "?";
}

/// Links between the same two nodes with smaller numbers. All cables of a node below stand
/// together, but in a ring of two hosts each of them holds one of the two cables.
int parallel_before(const Fabric& fabric, LinkId link) {
  const NodeId from = fabric.from[index(link)];
  const NodeId to = fabric.to[index(link)];
  const NodeId below = fabric.from[index(link & ~1)];
  LinkId first = fabric.first_tier;
  if (fabric.kind[index(link)] != LinkKind::ring)
    for (first = link & ~1; first >= 2 && fabric.from[index(first - 2)] == below;) first -= 2;
  int earlier = 0;
  for (LinkId other = first; other < link; ++other)
    if (fabric.from[index(other)] == from && fabric.to[index(other)] == to) ++earlier;
  return earlier;
}

/// A cable or one of its directions, as the user wrote it.
struct CableName {
  NodeId from, to;
  bool both_ways;
  std::optional<int> parallel;
};

std::optional<CableName> cable_named(const Fabric& fabric, std::string_view name) {
  const auto mark = name.find_first_of("->");
  if (mark == std::string_view::npos) return std::nullopt;
  std::string_view second = name.substr(mark + 1);
  std::optional<int> parallel;
  if (const auto hash = second.find('#'); hash != std::string_view::npos) {
    parallel = count_in(second.substr(hash + 1));
    if (!parallel) return std::nullopt;
    second = second.substr(0, hash);
  }
  const auto from = find_node(fabric, name.substr(0, mark));
  const auto to = find_node(fabric, second);
  if (!from || !to) return std::nullopt;
  return CableName{*from, *to, name[mark] == '-', parallel};
}

/// "host3"; of a rack also "tray3".
std::optional<int> host_named(const Fabric& fabric, std::string_view name) {
  for (const std::string_view word : {"host", "tray"}) {
    if (!name.starts_with(word) || (word == "tray" && fabric.spec.domain_hosts <= 1)) continue;
    const auto number = count_in(name.substr(word.size()));
    if (number && *number < fabric.spec.hosts) return number;
  }
  return std::nullopt;
}

/// @return whether there was anything to take down
bool take_down(const Fabric& fabric, const std::string& name, LinkSet& down) {
  bool found = false;
  const auto lose = [&](LinkId link) {
    down[index(link)] = true;
    found = true;
  };
  if (const auto host = host_named(fabric, name)) {
    const int nics = 2 * fabric.spec.host.nics;
    for (int i = 0; i < fabric.links_per_host; ++i) lose(*host * fabric.links_per_host + i);
    for (int i = 0; i < nics && fabric.count(NodeKind::nic) > 0; ++i)
      lose(fabric.first_nic_link + *host * nics + i);
    return found;
  }
  if (const auto node = find_node(fabric, name)) {
    for (LinkId link = 0; link < fabric.links(); ++link)
      if (fabric.from[index(link)] == *node || fabric.to[index(link)] == *node) lose(link);
    return found;
  }
  const auto cable = cable_named(fabric, name);
  if (!cable) return false;
  int parallel = 0;
  for (LinkId link = 0; link < fabric.links(); ++link) {
    if (fabric.from[index(link)] != cable->from || fabric.to[index(link)] != cable->to) continue;
    if (!cable->parallel || *cable->parallel == parallel) {
      lose(link);
      if (cable->both_ways) lose(link ^ 1);
    }
    ++parallel;
  }
  return found;
}

std::string known_names(const Fabric& fabric) {
  std::string text;
  for (std::size_t k = 0; k < node_kinds; ++k) {
    const auto kind = static_cast<NodeKind>(k);
    if (fabric.count(kind) == 0) continue;
    if (!text.empty()) text += ", ";
    text += node_name(fabric, fabric.node(kind, 0));
    if (fabric.count(kind) > 1)
      text += " to " + node_name(fabric, fabric.node(kind, fabric.count(kind) - 1));
  }
  return text;
}

}  // namespace

std::optional<NodeId> find_node(const Fabric& fabric, std::string_view name) {
  for (std::size_t k = 0; k < node_kinds; ++k) {
    const auto kind = static_cast<NodeKind>(k);
    const std::string_view word = word_of(fabric, kind);
    if (!name.starts_with(word)) continue;
    std::string_view rest = name.substr(word.size());
    std::optional<int> number;
    if (kind == NodeKind::nic) {
      const auto dot = rest.find('.');
      if (dot == std::string_view::npos) return std::nullopt;
      const auto host = count_in(rest.substr(0, dot));
      const auto nic = count_in(rest.substr(dot + 1));
      if (!host || !nic || *host >= fabric.spec.hosts || *nic >= fabric.spec.host.nics)
        return std::nullopt;
      number = *host * fabric.spec.host.nics + *nic;
    } else {
      number = count_in(rest);
    }
    if (!number || *number >= fabric.count(kind)) return std::nullopt;
    return fabric.node(kind, *number);
  }
  return std::nullopt;
}

std::string node_name(const Fabric& fabric, NodeId node) {
  const NodeKind kind = fabric.kind_of(node);
  const int number = node - fabric.node(kind, 0);
  std::string name{word_of(fabric, kind)};
  if (kind != NodeKind::nic) return name + std::to_string(number);
  const int nics = fabric.spec.host.nics;
  return name + std::to_string(number / nics) + "." + std::to_string(number % nics);
}

std::string link_name(const Fabric& fabric, LinkId link) {
  const NodeId from = fabric.from[index(link)];
  const NodeId to = fabric.to[index(link)];
  const int earlier = parallel_before(fabric, link);
  std::string name = node_name(fabric, from) + ">" + node_name(fabric, to);
  if (earlier > 0) name += "#" + std::to_string(earlier);
  return name;
}

std::variant<LinkSet, Infeasible> failed_links(const Fabric& fabric,
                                               const std::vector<std::string>& names) {
  LinkSet down(index(fabric.links()), false);
  for (const std::string& name : names)
    if (!take_down(fabric, name, down))
      return Infeasible{
          "unknown-link", "", "the fabric has no node and no cable named '" + name + "'",
          "nodes are " + known_names(fabric) + "; a cable is two of them, as in nic0.0-" +
              std::string(word_of(fabric, NodeKind::leaf)) + "0"};
  return down;
}

}  // namespace foretrain
