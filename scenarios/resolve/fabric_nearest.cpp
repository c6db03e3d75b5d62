// SPDX-License-Identifier: Apache-2.0
#include "scenarios/resolve/fabric_nearest.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>
#include <vector>

#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {
namespace {

constexpr std::string_view decimal_digits = "0123456789";

/// A whole number of up to nine digits.
std::optional<int> number_in(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// "spine" and "12" of "spine12".
std::pair<std::string_view, std::string_view> split(std::string_view name) {
  const auto at = std::min(name.find_first_of(decimal_digits), name.size());
  return {name.substr(0, at), name.substr(at)};
}

/// The kind of node that a word names or nearly names.
std::optional<NodeKind> kind_near(const Fabric& fabric, std::string_view word) {
  std::vector<std::string> words;
  std::vector<NodeKind> kinds;
  for (std::size_t k = 0; k < node_kinds; ++k) {
    const auto kind = static_cast<NodeKind>(k);
    if (fabric.count(kind) == 0) continue;
    const std::string first = node_name(fabric, fabric.node(kind, 0));
    words.emplace_back(split(first).first);
    kinds.push_back(kind);
  }
  const auto found = nearest(word, words);
  if (!found) return std::nullopt;
  return kinds[static_cast<std::size_t>(std::find(words.begin(), words.end(), *found) -
                                        words.begin())];
}

std::optional<NodeId> node_near(const Fabric& fabric, std::string_view name) {
  if (const auto node = find_node(fabric, name)) return node;
  const auto [word, rest] = split(name);
  const auto kind = kind_near(fabric, word);
  if (!kind) return std::nullopt;
  const auto dot = rest.find('.');
  const auto first = number_in(rest.substr(0, dot));
  if (!first) return std::nullopt;
  if (*kind != NodeKind::nic) return fabric.node(*kind, std::min(*first, fabric.count(*kind) - 1));
  const auto second =
      dot == std::string_view::npos ? std::optional<int>{0} : number_in(rest.substr(dot + 1));
  if (!second) return std::nullopt;
  const int nics = fabric.spec.host.nics;
  const int host = std::min(*first, fabric.spec.hosts - 1);
  return fabric.node(*kind, host * nics + std::min(*second, nics - 1));
}

/// Of the nodes that `from` is joined to, the one that `wanted` comes closest to.
NodeId neighbour_near(const Fabric& fabric, NodeId from, NodeId wanted) {
  const auto distance = [&](NodeId node) {
    const bool same_kind = fabric.kind_of(node) == fabric.kind_of(wanted);
    return std::pair{same_kind ? 0 : 1, std::abs(node - wanted)};
  };
  std::optional<NodeId> best;
  for (std::size_t link = 0; link < fabric.from.size(); ++link)
    if (fabric.from[link] == from && (!best || distance(fabric.to[link]) < distance(*best)))
      best = fabric.to[link];
  return best.value_or(wanted);
}

std::optional<std::string> nearest_fabric_name(const Fabric& fabric, std::string_view name) {
  const auto mark = name.find_first_of("->");
  const auto first = node_near(fabric, name.substr(0, mark));
  if (!first) return std::nullopt;
  if (mark == std::string_view::npos) return node_name(fabric, *first);
  std::string_view other = name.substr(mark + 1);
  other = other.substr(0, other.find('#'));
  const auto second = node_near(fabric, other);
  if (!second) return std::nullopt;
  return node_name(fabric, *first) + name[mark] +
         node_name(fabric, neighbour_near(fabric, *first, *second));
}

}  // namespace

std::string nearest_fabric_hint(const Fabric& fabric, std::string_view name) {
  const auto found = nearest_fabric_name(fabric, name);
  return found ? "; did you mean " + in_quotes(*found) + "?" : "";
}

std::optional<int> fabric_host(const Fabric& fabric, std::string_view name) {
  const auto number = number_in(name.starts_with("host") ? name.substr(4) : name);
  if (!number || *number >= fabric.spec.hosts) return std::nullopt;
  return number;
}

std::string nearest_host_hint(const Fabric& fabric, std::string_view name) {
  const auto number = number_in(split(name).second);
  if (!number) return "";
  const int host = std::min(*number, fabric.spec.hosts - 1);
  return "; did you mean " + in_quotes("host" + std::to_string(host)) + "?";
}

}  // namespace foretrain
