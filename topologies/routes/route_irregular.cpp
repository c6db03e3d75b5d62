// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "models/base/ranges.hpp"
#include "topologies/routes/internal/route_parts.hpp"

namespace foretrain {
namespace {

/// How far every switch is from one of them, over the cables that are up, by breadth-first search
/// against the direction of travel.
std::vector<std::uint8_t> hops_around_failures(const Fabric& fabric, int target,
                                               const Chooser& chooser) {
  const SwitchGraph& graph = fabric.switches;
  std::vector<std::uint8_t> hops(index(graph.switches), SwitchGraph::no_way);
  std::vector<int> reached{target};
  hops[index(target)] = 0;
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const int at = reached[next];
    const std::uint8_t away = hops[index(at)];
    if (away + 1 >= SwitchGraph::no_way) break;
    for (int i = graph.first[index(at)]; i < graph.first[index(at) + 1]; ++i) {
      const int end = graph.out[index(i)];
      const int before = graph.far[index(end)];
      if (hops[index(before)] != SwitchGraph::no_way || !chooser.up((fabric.first_tier + end) ^ 1))
        continue;
      hops[index(before)] = static_cast<std::uint8_t>(away + 1);
      reached.push_back(before);
    }
  }
  return hops;
}

}  // namespace

bool irregular_path(const Fabric& fabric, int from_switch, int to_switch, Chooser& chooser,
                    std::vector<LinkId>& links) {
  const SwitchGraph& graph = fabric.switches;
  const bool failures = chooser.choice().down != nullptr;
  std::vector<std::uint8_t> around;
  if (failures) around = hops_around_failures(fabric, to_switch, chooser);
  const auto away = [&](int at) -> int {
    return failures ? around[index(at)] : graph.hops_to(to_switch, at);
  };
  if (away(from_switch) == SwitchGraph::no_way) return false;
  std::vector<LinkId> nearer;
  for (int at = from_switch; at != to_switch;) {
    nearer.clear();
    for (int i = graph.first[index(at)]; i < graph.first[index(at) + 1]; ++i) {
      const int end = graph.out[index(i)];
      const LinkId link = fabric.first_tier + end;
      if (away(graph.far[index(end)]) == away(at) - 1 && chooser.up(link)) nearer.push_back(link);
    }
    const auto count = static_cast<int>(nearer.size());
    const bool forced = at == from_switch && chooser.choice().uplink.has_value();
    const int picked =
        forced ? chooser.choice().uplink.value_or(0) % count
               : chooser.pick(
                     count, [&](int i) { return nearer[index(i)]; }, [](int) { return true; });
    const LinkId link = nearer[index(picked)];
    links.push_back(link);
    at = graph.far[index(link - fabric.first_tier)];
  }
  return true;
}

}  // namespace foretrain
