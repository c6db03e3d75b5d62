// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "topologies/imports/fabric_shape.hpp"

namespace foretrain {
namespace {

using imports::in_quotes;

/// Sizes of a tree in which all leaves are equally deep.
struct TreeSizes {
  int levels = 1;  ///< of switches
  int leaves = 1;
  int hosts_per_leaf = 0;  ///< the most common; one leaf may hold fewer
  int pods = 1;
  int leaves_per_pod = 1;
  std::optional<IrregularFabric> breach;
};

int level_of(const SwitchTree& tree, std::size_t index) {
  int level = 1;
  for (int up = tree.switches[index].parent; up >= 0;
       up = tree.switches[static_cast<std::size_t>(up)].parent)
    ++level;
  return level;
}

/// The most common of some sizes, the largest of equals.
int usual(const std::vector<int>& sizes) {
  std::map<int, int> count;
  for (const int size : sizes) ++count[size];
  int best = 0;
  for (const auto& [size, times] : count)
    if (best == 0 || times >= count[best]) best = size;
  return best;
}

/// Reports the first switch whose size is not the usual one; one may be smaller than it.
void check_sizes(const SwitchTree& tree, const std::vector<std::size_t>& switches,
                 const std::vector<int>& sizes, const std::string& what, TreeSizes& result) {
  const int common = usual(sizes);
  int smaller = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == common || (sizes[i] < common && ++smaller == 1)) continue;
    if (result.breach) return;
    const TreeSwitch& at = tree.switches[switches[i]];
    result.breach = IrregularFabric{at.name,
                                    at.line,
                                    "has " + std::to_string(sizes[i]) + " " + what +
                                        " where most have " + std::to_string(common),
                                    std::nullopt,
                                    {},
                                    std::nullopt};
  }
}

TreeSizes sizes_of(const SwitchTree& tree) {
  TreeSizes sizes;
  std::vector<std::size_t> tops;
  std::vector<std::size_t> leaves;
  for (std::size_t i = 0; i < tree.switches.size(); ++i) {
    if (tree.switches[i].parent < 0) tops.push_back(i);
    if (tree.switches[i].switches.empty()) leaves.push_back(i);
  }
  if (tops.size() > 1) {
    const TreeSwitch& second = tree.switches[tops[1]];
    throw ImportError(second.line, "switch " + in_quotes(second.name) + " and " +
                                       in_quotes(tree.switches[tops[0]].name) +
                                       " have nothing above them that joins them; write a switch "
                                       "with both, or import one part");
  }
  sizes.leaves = static_cast<int>(leaves.size());
  std::vector<int> depths;
  std::vector<int> hosts;
  for (const std::size_t leaf : leaves) {
    depths.push_back(level_of(tree, leaf));
    hosts.push_back(static_cast<int>(tree.switches[leaf].hosts.size()));
  }
  sizes.levels = usual(depths);
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (depths[i] != sizes.levels) {
      const TreeSwitch& at = tree.switches[leaves[i]];
      throw ImportError(at.line, "switch " + in_quotes(at.name) + " holds nodes on level " +
                                     std::to_string(depths[i]) + " and others on level " +
                                     std::to_string(sizes.levels) +
                                     "; all leaves must be equally far from the top");
    }
  sizes.hosts_per_leaf = usual(hosts);
  check_sizes(tree, leaves, hosts, "nodes", sizes);
  if (sizes.levels == 3) {
    std::vector<std::size_t> pods;
    std::vector<int> below;
    for (std::size_t i = 0; i < tree.switches.size(); ++i)
      if (level_of(tree, i) == 2) {
        pods.push_back(i);
        below.push_back(static_cast<int>(tree.switches[i].switches.size()));
      }
    sizes.pods = static_cast<int>(pods.size());
    sizes.leaves_per_pod = usual(below);
    check_sizes(tree, pods, below, "switches below", sizes);
  }
  return sizes;
}

std::optional<FabricShape> sized(FabricKind kind, const TreeSizes& sizes, int hosts, int radix,
                                 const ShapeRequest& request) {
  FabricShape shape;
  shape.kind = kind;
  shape.hosts = hosts;
  shape.nics_per_host = request.nics_per_host;
  shape.switch_radix = radix;
  shape.oversubscription = request.oversubscription.value_or(1.0);
  ClosSpec spec;
  spec.kind = kind;
  spec.hosts = hosts;
  spec.nics_per_host = request.nics_per_host;
  spec.gpus_per_host = request.gpus_per_host;
  spec.switch_radix = radix;
  spec.oversubscription = shape.oversubscription;
  const auto network = clos_network(spec);
  if (!std::holds_alternative<ClosNetwork>(network)) return std::nullopt;
  shape.network = std::get<ClosNetwork>(network);
  const bool rails = kind == FabricKind::rail_optimized;
  const int units = shape.network.leaves / (rails ? request.nics_per_host : 1);
  const bool one_level = sizes.levels == 1;
  if (one_level) {
    if (rails ? shape.network.tiers == 1 || units != 1 : shape.network.tiers != 1)
      return std::nullopt;
    return shape;
  }
  if (units != sizes.leaves || shape.network.tiers != sizes.levels) return std::nullopt;
  if (sizes.levels == 3 && shape.network.pods != sizes.pods) return std::nullopt;
  return shape;
}

FabricKind kind_of(const TreeSizes& sizes, int hosts, const ShapeRequest& request,
                   ImportNotes& notes) {
  if (request.kind) return *request.kind;
  const int nics = (sizes.levels == 1 ? hosts : sizes.hosts_per_leaf) * request.nics_per_host;
  const int ports = sizes.levels == 1 ? request.switch_radix : request.switch_radix - 1;
  if (nics > ports && request.nics_per_host > 1) {
    notes.assumed.push_back(
        "a switch of the tree is a unit of rails, one leaf switch per NIC of a "
        "host: its " +
        std::to_string(nics) + " NICs do not fit on one switch with " +
        std::to_string(request.switch_radix) + " ports (--kind decides)");
    return FabricKind::rail_optimized;
  }
  const FabricKind kind = sizes.levels == 1   ? FabricKind::single_switch
                          : sizes.levels == 2 ? FabricKind::leaf_spine
                                              : FabricKind::fat_tree;
  notes.assumed.push_back(
      "a switch of the tree is one switch, and all NICs of a host are plugged "
      "into the same: " +
      std::string(name_of(kind)) + " (--kind decides)");
  return kind;
}

}  // namespace

std::vector<int> radix_candidates(int preferred) {
  std::vector<int> all;
  if (preferred >= 2) all.push_back(preferred);
  for (int radix = 2; radix <= 1024; ++radix)
    if (radix != preferred) all.push_back(radix);
  return all;
}

FoundFabric shape_of_tree(const SwitchTree& tree, const ShapeRequest& request, ImportNotes& notes) {
  const TreeSizes sizes = sizes_of(tree);
  if (sizes.levels > 3)
    throw ImportError(tree.switches.front().line,
                      "is a tree of " + std::to_string(sizes.levels) +
                          " levels of switches; three are the most that is modelled");
  const FabricKind kind = kind_of(sizes, tree.hosts, request, notes);
  std::optional<FabricShape> shape;
  for (const int radix : radix_candidates(request.switch_radix)) {
    shape = sized(kind, sizes, tree.hosts, radix, request);
    if (shape) break;
  }
  if (!shape && sizes.breach) return *sizes.breach;
  if (!shape)
    throw ImportError(
        0, "no " + std::string(name_of(kind)) + " network of equal switches has " +
               std::to_string(sizes.leaves) + " leaves in " + std::to_string(sizes.levels) +
               " levels for " + std::to_string(tree.hosts) + " nodes with " +
               std::to_string(request.nics_per_host) + " NICs each; try another --kind or --host");
  if (!request.oversubscription)
    notes.assumed.emplace_back(
        "no oversubscription: the tree does not count cables (--oversubscription decides)");
  if (shape->switch_radix != request.switch_radix)
    notes.assumed.push_back("switches of " + std::to_string(shape->switch_radix) +
                            " ports, which give the leaves of the tree");
  if (!sizes.breach) return *shape;
  IrregularFabric irregular = *sizes.breach;
  irregular.nearest = shape;
  irregular.difference = "the " + std::to_string(tree.hosts) +
                         " nodes are spread evenly over the " + std::to_string(sizes.leaves) +
                         " leaves";
  return irregular;
}

}  // namespace foretrain
