// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "models/base/ranges.hpp"
#include "topologies/imports/internal/network_builder.hpp"

namespace foretrain {
namespace {

using imports::in_quotes;
using imports::usual;

/// The first thing that no regular network has.
struct Breach {
  int where = -1;  ///< switch
  std::string reason;
};

/// Switches of one plane, tier by tier, with cables in units of the NIC's rate.
struct Tiers {
  int tiers = 1;
  std::vector<int> level;  ///< by switch; 0: of another plane
  std::vector<int> leaves;
  std::vector<int> spines;
  std::vector<int> cores;
  std::vector<double> down;  ///< by switch
  std::vector<double> up;
  int nics_per_leaf = 0;
  double uplinks_per_leaf = 0.0;
  double spine_down = 0.0;
  double spine_up = 0.0;
};

/// Looks at one network from all sides.
class Recogniser {
 public:
  Recogniser(const NetworkDescription& network, int gpus_per_host, ImportNotes& notes)
      : network_{network},
        notes_{notes},
        gpus_{gpus_per_host},
        planes_{imports::network_planes(network, notes)} {}

  FoundFabric recognise() {
    Tiers tiers = tiers_of(0);
    for (int plane = 1; plane < planes_.count; ++plane) compare_planes(tiers, tiers_of(plane));
    const FabricKind kind = planes_.count > 1 ? FabricKind::rail_only : kind_of(tiers);
    return shaped(kind, tiers);
  }

 private:
  void breach(int where, std::string reason) {
    if (breach_.where < 0) breach_ = {where, std::move(reason)};
  }

  /// Distance from the NICs in switches, and cables up and down.
  Tiers tiers_of(int plane) {
    Tiers tiers;
    tiers.level.assign(network_.switches.size(), 0);
    tiers.down.assign(network_.switches.size(), 0.0);
    tiers.up.assign(network_.switches.size(), 0.0);
    for (const HostCable& cable : network_.host_cables)
      if (planes_.taken[index(cable.host)] && planes_.plane[index(cable.to)] == plane) {
        tiers.level[index(cable.to)] = 1;
        tiers.down[index(cable.to)] += 1.0;
      }
    for (int level = 1; level < 8 && climb(plane, level, tiers);) ++level;
    for (std::size_t i = 0; i < tiers.level.size(); ++i) {
      if (planes_.plane[i] != plane) continue;
      tiers.tiers = std::max(tiers.tiers, tiers.level[i]);
      if (tiers.level[i] > 3)
        breach(static_cast<int>(i), "is four tiers above the hosts; a regular fabric has three");
      if (tiers.level[i] > 0)
        (tiers.level[i] == 1   ? tiers.leaves
         : tiers.level[i] == 2 ? tiers.spines
                               : tiers.cores)
            .push_back(static_cast<int>(i));
    }
    count_cables(plane, tiers);
    check_tier(tiers.leaves, tiers);
    check_tier(tiers.spines, tiers);
    check_spread(plane, tiers);
    return tiers;
  }

  /// Gives neighbours of a level the next one. @return whether there were any
  bool climb(int plane, int level, Tiers& tiers) const {
    bool any = false;
    for (const SwitchCable& cable : network_.switch_cables) {
      if (planes_.plane[index(cable.first)] != plane) continue;
      for (const auto& [a, b] :
           {std::pair{cable.first, cable.second}, std::pair{cable.second, cable.first}})
        if (tiers.level[index(a)] == level && tiers.level[index(b)] == 0) {
          tiers.level[index(b)] = level + 1;
          any = true;
        }
    }
    return any;
  }

  void count_cables(int plane, Tiers& tiers) {
    for (const SwitchCable& cable : network_.switch_cables) {
      if (planes_.plane[index(cable.first)] != plane) continue;
      int low = cable.first;
      int high = cable.second;
      if (tiers.level[index(low)] > tiers.level[index(high)]) std::swap(low, high);
      if (tiers.level[index(low)] == tiers.level[index(high)]) {
        breach(low, "has a cable to " + in_quotes(network_.switches[index(high)].name) +
                        " of its own tier, at line " + std::to_string(cable.line));
        continue;
      }
      const double cables = planes_.gbit > 0.0 ? cable.gbit_per_second / planes_.gbit : 1.0;
      if (cable.gbit_per_second != planes_.gbit) other_rate_ = cable.gbit_per_second;
      tiers.up[index(low)] += cables;
      tiers.down[index(high)] += cables;
    }
  }

  /// All switches of a tier have the same cables; one may have fewer hosts.
  void check_tier(const std::vector<int>& tier, Tiers& tiers) {
    if (tier.empty()) return;
    std::vector<double> down;
    std::vector<double> up;
    for (const int i : tier) {
      down.push_back(tiers.down[index(i)]);
      up.push_back(tiers.up[index(i)]);
    }
    const bool leaves = tiers.level[index(tier.front())] == 1;
    const double usual_down = usual(down);
    const double usual_up = usual(up);
    (leaves ? tiers.uplinks_per_leaf : tiers.spine_up) = usual_up;
    if (leaves)
      tiers.nics_per_leaf = static_cast<int>(usual_down);
    else
      tiers.spine_down = usual_down;
    for (const int i : tier) {
      const auto say = [&](const char* what, double has, double most) {
        breach(i, "has " + count(has) + " cables " + what + " where most of its tier have " +
                      count(most));
      };
      if (tiers.up[index(i)] != usual_up) say("up", tiers.up[index(i)], usual_up);
      if (tiers.down[index(i)] > usual_down || (!leaves && tiers.down[index(i)] != usual_down))
        say("down", tiers.down[index(i)], usual_down);
    }
    if (leaves) check_fill(tier, tiers);
  }

  static std::string count(double cables) {
    return cables == std::floor(cables) ? std::to_string(static_cast<int>(cables))
                                        : std::to_string(cables);
  }

  /// The last leaf, or the leaves of the last unit, may hold fewer.
  void check_fill(const std::vector<int>& leaves, const Tiers& tiers) {
    std::set<double> fewer;
    int number = 0;
    for (const int leaf : leaves)
      if (tiers.down[index(leaf)] < tiers.nics_per_leaf) {
        fewer.insert(tiers.down[index(leaf)]);
        if (++number > planes_.nics || fewer.size() > 1)
          breach(leaf, "holds " + count(tiers.down[index(leaf)]) + " NICs where most hold " +
                           std::to_string(tiers.nics_per_leaf) + ", and so do others before it");
      }
  }

  /// A switch deals its cables evenly to those above that it reaches.
  void check_spread(int plane, const Tiers& tiers) {
    std::map<std::pair<int, int>, double> cables;
    for (const SwitchCable& cable : network_.switch_cables) {
      if (planes_.plane[index(cable.first)] != plane) continue;
      int low = cable.first;
      int high = cable.second;
      if (tiers.level[index(low)] > tiers.level[index(high)]) std::swap(low, high);
      if (tiers.level[index(low)] != tiers.level[index(high)])
        cables[{low, high}] += planes_.gbit > 0.0 ? cable.gbit_per_second / planes_.gbit : 1.0;
    }
    std::map<int, double> first;
    std::map<int, int> reached;
    for (const auto& [ends, number] : cables) {
      const auto [known, added] = first.emplace(ends.first, number);
      ++reached[ends.first];
      if (!added && known->second != number)
        breach(ends.first, "has " + count(number) + " cables to " +
                               in_quotes(network_.switches[index(ends.second)].name) + " and " +
                               count(known->second) + " to others above it");
    }
    if (tiers.tiers != 2) return;
    for (const int leaf : tiers.leaves)
      if (reached[leaf] != static_cast<int>(tiers.spines.size()))
        breach(leaf, "reaches " + std::to_string(reached[leaf]) + " of " +
                         std::to_string(tiers.spines.size()) + " spines");
  }

  void compare_planes(const Tiers& first, const Tiers& other) {
    if (first.leaves.size() == other.leaves.size() && first.spines.size() == other.spines.size() &&
        first.cores.size() == other.cores.size() && first.nics_per_leaf == other.nics_per_leaf)
      return;
    breach(other.leaves.front(), "is on a rail that has other numbers of switches than the first");
  }

  /// Leaves of every host, NIC by NIC.
  [[nodiscard]] std::vector<std::vector<int>> leaves_of_hosts() const {
    std::vector<std::vector<int>> leaves(network_.hosts.size());
    for (const HostCable& cable : network_.host_cables)
      if (planes_.taken[index(cable.host)]) leaves[index(cable.host)].push_back(cable.to);
    for (auto& of_host : leaves) std::ranges::sort(of_host);
    std::vector<std::vector<int>> chosen;
    for (auto& of_host : leaves)
      if (!of_host.empty()) chosen.push_back(std::move(of_host));
    return chosen;
  }

  FabricKind kind_of(const Tiers& tiers) {
    if (tiers.tiers == 1) return FabricKind::single_switch;
    const FabricKind plain = tiers.tiers == 2 ? FabricKind::leaf_spine : FabricKind::fat_tree;
    if (planes_.nics == 1) return plain;
    const auto leaves = leaves_of_hosts();
    int together = 0;
    int apart = 0;
    for (const auto& of_host : leaves) {
      const std::set<int> distinct(of_host.begin(), of_host.end());
      together += distinct.size() == 1 ? 1 : 0;
      apart += static_cast<int>(distinct.size()) == planes_.nics ? 1 : 0;
    }
    const bool rails = apart >= together;
    for (const auto& of_host : leaves) {
      const std::set<int> distinct(of_host.begin(), of_host.end());
      if (static_cast<int>(distinct.size()) != (rails ? planes_.nics : 1))
        breach(of_host.front(), "shares the NICs of a host with " +
                                    std::to_string(distinct.size() - 1) +
                                    " other leaves; all on one leaf, or each on its own (rails), "
                                    "is regular");
    }
    if (rails) check_units(leaves);
    return rails ? FabricKind::rail_optimized : plain;
  }

  /// Hosts that share one rail's leaf share all.
  void check_units(const std::vector<std::vector<int>>& leaves) {
    std::map<int, const std::vector<int>*> unit;
    for (const auto& of_host : leaves)
      for (const int leaf : of_host) {
        const auto [known, added] = unit.emplace(leaf, &of_host);
        if (!added && *known->second != of_host)
          breach(leaf, "holds hosts whose other NICs are on different leaves, so it is not a rail");
      }
  }

  [[nodiscard]] std::optional<FabricShape> sized(FabricKind kind, int radix, double ratio,
                                                 double spine_ratio) const {
    FabricShape shape;
    shape.kind = kind;
    shape.hosts = planes_.hosts;
    shape.nics_per_host = planes_.nics;
    shape.switch_radix = radix;
    shape.oversubscription = ratio;
    shape.spine_oversubscription = spine_ratio;
    shape.gbit_per_second = planes_.gbit;
    ClosSpec spec;
    spec.kind = kind;
    spec.hosts = planes_.hosts;
    spec.nics_per_host = planes_.nics;
    spec.gpus_per_host = gpus_;
    spec.switch_radix = radix;
    spec.oversubscription = ratio;
    spec.spine_oversubscription = spine_ratio;
    const auto network = clos_network(spec);
    if (!std::holds_alternative<ClosNetwork>(network)) return std::nullopt;
    shape.network = std::get<ClosNetwork>(network);
    return shape;
  }

  /// How many counts of the file a shape does not have; tiers and leaves weigh most.
  [[nodiscard]] static int distance(const ClosNetwork& shape, const Tiers& tiers) {
    int off = 0;
    off += shape.tiers != tiers.tiers ? 1000 : 0;
    off += shape.leaves != static_cast<int>(tiers.leaves.size()) ? 100 : 0;
    off += shape.nics_per_leaf != tiers.nics_per_leaf ? 10 : 0;
    off +=
        tiers.tiers > 1 && shape.uplinks_per_leaf != std::lround(tiers.uplinks_per_leaf) ? 10 : 0;
    off += shape.spines != static_cast<int>(tiers.spines.size()) ? 1 : 0;
    off += shape.cores != static_cast<int>(tiers.cores.size()) ? 1 : 0;
    return off;
  }

  FoundFabric shaped(FabricKind kind, const Tiers& tiers) {
    const double ratio = tiers.tiers == 1 || tiers.uplinks_per_leaf <= 0.0
                             ? 1.0
                             : std::max(1.0, tiers.nics_per_leaf / tiers.uplinks_per_leaf);
    const double spine_ratio = tiers.tiers < 3 || tiers.spine_up <= 0.0
                                   ? 1.0
                                   : std::max(1.0, tiers.spine_down / tiers.spine_up);
    std::vector<int> ports;
    for (const int leaf : tiers.leaves) ports.push_back(network_.switches[index(leaf)].ports);
    std::optional<FabricShape> best;
    int best_distance = 0;
    for (const int radix : radix_candidates(usual(ports))) {
      const auto shape = sized(kind, radix, ratio, spine_ratio);
      if (!shape) continue;
      const int off = distance(shape->network, tiers);
      if (best && off >= best_distance) continue;
      best = shape;
      best_distance = off;
      if (off == 0) break;
    }
    if (other_rate_ > 0.0)
      notes_.assumed.emplace_back("cables between switches count by their rate in NICs' cables");
    if (breach_.where < 0 && best && best_distance < 10) {
      if (best_distance > 0)
        notes_.assumed.push_back(
            std::to_string(best->network.spines) + " spines and " +
            std::to_string(best->network.cores) + " cores where the file has " +
            std::to_string(tiers.spines.size()) + " and " + std::to_string(tiers.cores.size()) +
            ": the same bandwidth, with fewer cables per pair of switches");
      return *best;
    }
    return irregular(best, tiers);
  }

  FoundFabric irregular(const std::optional<FabricShape>& best, const Tiers& tiers) {
    if (breach_.where < 0)
      breach_ = {tiers.leaves.front(),
                 "is one of " + std::to_string(tiers.leaves.size()) + " leaves with " +
                     std::to_string(tiers.nics_per_leaf) + " NICs and " +
                     count(tiers.uplinks_per_leaf) +
                     " cables up, a size that switches of one kind do not give"};
    const FoundSwitch& where = network_.switches[index(breach_.where)];
    IrregularFabric result{where.name, where.line, breach_.reason, best, {}, std::nullopt};
    if (best)
      result.difference = "the file has " + std::to_string(tiers.leaves.size()) + " leaves of " +
                          std::to_string(tiers.nics_per_leaf) + " NICs, " +
                          std::to_string(tiers.spines.size()) + " spines and " +
                          std::to_string(tiers.cores.size()) + " cores";
    result.found = imports::found_switches(network_, planes_);
    return result;
  }

  const NetworkDescription& network_;
  ImportNotes& notes_;
  int gpus_;
  imports::NetworkPlanes planes_;
  double other_rate_ = 0.0;
  Breach breach_;
};

}  // namespace

FoundFabric recognise_fabric(const NetworkDescription& network, int gpus_per_host,
                             ImportNotes& notes) {
  return Recogniser(network, gpus_per_host, notes).recognise();
}

}  // namespace foretrain
