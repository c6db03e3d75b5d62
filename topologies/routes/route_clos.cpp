// SPDX-License-Identifier: Apache-2.0
#include "topologies/routes/internal/route_parts.hpp"

namespace foretrain {
namespace {

/// Link numbers of a Clos network, as fabric.cpp hands them out, and what is alive behind them.
struct ClosLinks {
  const Fabric& fabric;
  Chooser& chooser;
  int uplinks = fabric.clos.uplinks_per_leaf;
  int spines = fabric.clos.spines / fabric.clos.pods;  ///< of a pod
  int spine_uplinks = fabric.clos.uplinks_per_spine;
  int cores = fabric.clos.tiers < 3 ? 0 : fabric.clos.cores / spines;  ///< of a group

  [[nodiscard]] int pod_of(int leaf) const {
    const int plane = leaf / fabric.clos.leaves;
    return plane * fabric.clos.pods + leaf % fabric.clos.leaves / fabric.clos.leaves_per_pod;
  }
  [[nodiscard]] LinkId up_from_leaf(int leaf, int cable) const {
    return fabric.first_tier + 2 * (leaf * uplinks + cable);
  }
  [[nodiscard]] LinkId up_from_spine(int pod, int spine, int cable) const {
    return fabric.second_tier + 2 * ((pod * spines + spine) * spine_uplinks + cable);
  }
  /// The m-th of the parallel cables down from a spine of the leaf's pod.
  [[nodiscard]] LinkId down_to_leaf(int leaf, int spine, int m) const {
    return up_from_leaf(leaf, spine + spines * m) ^ 1;
  }
  [[nodiscard]] LinkId down_to_spine(int pod, int spine, int core, int m) const {
    return up_from_spine(pod, spine, core + cores * m) ^ 1;
  }

  [[nodiscard]] bool spine_reaches(int spine, int leaf) const {
    for (int m = 0; m < uplinks / spines; ++m)
      if (chooser.up(down_to_leaf(leaf, spine, m))) return true;
    return false;
  }
  [[nodiscard]] bool core_reaches(int core, int spine, int leaf) const {
    for (int m = 0; m < spine_uplinks / cores; ++m)
      if (chooser.up(down_to_spine(pod_of(leaf), spine, core, m)))
        return spine_reaches(spine, leaf);
    return false;
  }
  /// Over the cores, from the same-numbered spine of another pod.
  [[nodiscard]] bool spine_reaches_pod(int pod, int spine, int leaf) const {
    for (int k = 0; k < spine_uplinks; ++k)
      if (chooser.up(up_from_spine(pod, spine, k)) && core_reaches(k % cores, spine, leaf))
        return true;
    return false;
  }
};

/// Up to a core and down to the same-numbered spine of the other pod.
bool over_cores(const ClosLinks& links, int pod, int spine, int to, std::vector<LinkId>& path) {
  Chooser& chooser = links.chooser;
  const auto up = [&](int k) { return links.up_from_spine(pod, spine, k); };
  const int k = chooser.pick(links.spine_uplinks, up, [&](int cable) {
    return links.core_reaches(cable % links.cores, spine, to);
  });
  if (k < 0) return false;
  const auto down = [&](int m) {
    return links.down_to_spine(links.pod_of(to), spine, k % links.cores, m);
  };
  const int m = chooser.pick(links.spine_uplinks / links.cores, down, [](int) { return true; });
  if (m < 0) return false;
  path.insert(path.end(), {up(k), down(m)});
  return true;
}

int first_cable(const ClosLinks& links, int from, int to, Chooser& chooser) {
  const int pod = links.pod_of(from);
  const bool same_pod = pod == links.pod_of(to);
  const auto up = [&](int j) { return links.up_from_leaf(from, j); };
  const auto leads = [&](int j) {
    const int spine = j % links.spines;
    return same_pod ? links.spine_reaches(spine, to) : links.spine_reaches_pod(pod, spine, to);
  };
  if (const auto wanted = chooser.choice().uplink) {
    const int forced = *wanted % links.uplinks;
    if (chooser.up(up(forced)) && (chooser.choice().down == nullptr || leads(forced)))
      return forced;
  }
  return chooser.pick(links.uplinks, up, leads);
}

}  // namespace

bool clos_path(const Fabric& fabric, int from_leaf, int to_leaf, Chooser& chooser,
               std::vector<LinkId>& links) {
  if (from_leaf / fabric.clos.leaves != to_leaf / fabric.clos.leaves) return false;
  const ClosLinks clos{fabric, chooser};
  const std::size_t before = links.size();
  const int j = first_cable(clos, from_leaf, to_leaf, chooser);
  if (j < 0) return false;
  links.push_back(clos.up_from_leaf(from_leaf, j));
  const int spine = j % clos.spines;
  const int pod = clos.pod_of(from_leaf);
  const auto down = [&](int m) { return clos.down_to_leaf(to_leaf, spine, m); };
  if (pod == clos.pod_of(to_leaf) || over_cores(clos, pod, spine, to_leaf, links)) {
    // Sprayed packets come down as they went up, where several cables lead to one spine.
    const int straight = j / clos.spines;
    const int m = chooser.choice().uplink && chooser.up(down(straight))
                      ? straight
                      : chooser.pick(clos.uplinks / clos.spines, down, [](int) { return true; });
    if (m >= 0) {
      links.push_back(down(m));
      return true;
    }
  }
  links.resize(before);
  return false;
}

}  // namespace foretrain
