// SPDX-License-Identifier: Apache-2.0
#include "topologies/routes/routing.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "tests/topologies/fabric_specs.hpp"
#include "topologies/fabrics/fabric_checks.hpp"

namespace foretrain {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::vector<LinkId> routed(const Fabric& fabric, int from, int to, const RouteChoice& choice = {}) {
  std::vector<LinkId> links;
  REQUIRE(route(fabric, from, to, choice, links));
  return links;
}

/// Starts at `from`, ends at `to`, every link begins where the one before ended, none twice.
bool is_a_way(const Fabric& fabric, const std::vector<LinkId>& links, int from, int to) {
  NodeId here = from;
  for (const LinkId link : links) {
    if (fabric.from[at(link)] != here) return false;
    here = fabric.to[at(link)];
  }
  std::vector<LinkId> sorted = links;
  std::sort(sorted.begin(), sorted.end());
  return here == to && std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

std::vector<std::string> nodes_on(const Fabric& fabric, const std::vector<LinkId>& links) {
  std::vector<std::string> names;
  for (const LinkId link : links) names.push_back(node_name(fabric, fabric.to[at(link)]));
  return names;
}

TEST_CASE("routes: every pair of GPUs of every kind of fabric is joined, by any seed",
          "[topologies][property]") {
  for (const auto& [name, spec] : every_kind()) {
    CAPTURE(name);
    const Fabric fabric = built(spec);
    std::vector<LinkId> links;
    int broken = 0;
    for (int from = 0; from < fabric.gpus(); ++from)
      for (int to = 0; to < fabric.gpus(); ++to)
        for (const std::uint64_t seed : {0U, 1U, 2U}) {
          RouteChoice choice;
          choice.seed = seed;
          if (!route(fabric, from, to, choice, links) || !is_a_way(fabric, links, from, to))
            ++broken;
        }
    CHECK(broken == 0);
  }
}

TEST_CASE("routes: between hosts no route is longer than the shortest path by breadth-first search",
          "[topologies][property]") {
  for (const auto& [name, spec] : every_kind()) {
    // Minimal in a dragonfly means one global cable, where two may be a hop less: tested below.
    if (std::holds_alternative<std::monostate>(spec.network) ||
        std::holds_alternative<DragonflyShape>(spec.network))
      continue;
    CAPTURE(name);
    const Fabric fabric = built(spec);
    const int nics = spec.host.nics;
    int longer = 0;
    for (NodeId nic = 0; nic < fabric.count(NodeKind::nic); ++nic) {
      const NodeId start = fabric.node(NodeKind::nic, nic);
      const auto hops = hops_from(fabric, start, Scope::network);
      const int gpu = nic / nics * spec.host.gpus + nic % nics * spec.host.gpus / nics;
      for (int to = 0; to < fabric.gpus(); ++to) {
        if (to / spec.host.gpus == nic / nics) continue;
        // What the route does between leaving on one NIC and arriving on the other.
        const auto links = routed(fabric, gpu, to);
        NodeId out = -1;
        NodeId in = -1;
        int cables = 0;
        for (const LinkId link : links) {
          if (link < fabric.first_nic_link) continue;
          if (out < 0) out = fabric.from[at(link)];
          in = fabric.to[at(link)];
          ++cables;
        }
        if (out == start && cables != hops[at(in)]) ++longer;
      }
    }
    CHECK(longer == 0);
  }
}

TEST_CASE("routes: the same seed gives the same routes, another seed others", "[topologies]") {
  const Fabric fabric = built(clos_fabric(FabricKind::rail_optimized, 128, 8, 64));
  RouteChoice other;
  other.seed = 7;
  RouteChoice second_flow;
  second_flow.flow = 1;
  int differ_by_seed = 0;
  int differ_by_flow = 0;
  for (int to = 8 * 64; to < fabric.gpus(); to += 8) {
    CHECK(routed(fabric, 0, to) == routed(fabric, 0, to));
    differ_by_seed += routed(fabric, 0, to) != routed(fabric, 0, to, other) ? 1 : 0;
    differ_by_flow += routed(fabric, 0, to) != routed(fabric, 0, to, second_flow) ? 1 : 0;
  }
  // 64 flows over 32 cables up and two down: one in 64 would stay where it was.
  CHECK(differ_by_seed >= 56);
  CHECK(differ_by_flow >= 56);
}

TEST_CASE("routes: ECMP spreads flows evenly over the cables of a leaf", "[topologies]") {
  const Fabric fabric = built(clos_fabric(FabricKind::rail_optimized, 128, 8, 64));
  REQUIRE(fabric.clos.uplinks_per_leaf == 32);
  std::map<LinkId, int> flows;
  int all = 0;
  for (int host = 0; host < 32; ++host)
    for (int to = 32; to < 128; ++to, ++all) ++flows[routed(fabric, 8 * host, 8 * to).at(2)];
  REQUIRE(flows.size() == 32);
  const double expected = all / 32.0;
  double chi_square = 0.0;
  for (const auto& [link, count] : flows)
    chi_square += (count - expected) * (count - expected) / expected;
  // 31 degrees of freedom: between the 0.1 % and the 99.9 % quantile (NIST/SEMATECH tables).
  CHECK(chi_square > 11.1);
  CHECK(chi_square < 61.1);
}

TEST_CASE("routes: a forced uplink is taken, modulo the cables there are", "[topologies]") {
  const Fabric fabric = built(clos_fabric(FabricKind::leaf_spine, 16, 2, 8));
  RouteChoice choice;
  for (const int uplink : {0, 1, 2, 3, 6}) {
    choice.uplink = uplink;
    const auto nodes = nodes_on(fabric, routed(fabric, 0, 31, choice));
    CHECK(std::count(nodes.begin(), nodes.end(), "spine" + std::to_string(uplink % 4)) == 1);
  }
}

TEST_CASE("routes: adaptive routing takes the least loaded cable, and balances a leaf exactly",
          "[topologies]") {
  const Fabric fabric = built(clos_fabric(FabricKind::rail_optimized, 64, 8, 64));
  std::vector<double> load(at(fabric.links()), 0.0);
  RouteChoice choice;
  choice.load = &load;
  for (int host = 0; host < 32; ++host)
    for (const LinkId link : routed(fabric, 8 * host, 8 * (host + 32), choice)) load[at(link)] += 1;
  // 32 flows leave one leaf that has 32 cables up.
  for (int cable = 0; cable < 32; ++cable) CHECK(load[at(fabric.first_tier + 2 * cable)] == 1.0);
  choice.load = nullptr;
  std::map<LinkId, int> hashed;
  for (int host = 0; host < 32; ++host) ++hashed[routed(fabric, 8 * host, 8 * (host + 32)).at(2)];
  // The hash collides: 32 balls into 32 bins leave about 32/e bins empty.
  CHECK(hashed.size() < 28);
}

TEST_CASE("routes: NVSwitch takes two links, a shared leaf four cables and PCIe at both ends",
          "[topologies]") {
  const Fabric fabric = built(clos_fabric(FabricKind::rail_optimized, 16, 4, 8));
  CHECK(routed(fabric, 5, 5).empty());
  CHECK(nodes_on(fabric, routed(fabric, 0, 3)) == std::vector<std::string>{"nvswitch0", "gpu3"});
  CHECK(nodes_on(fabric, routed(fabric, 0, 4)) ==
        std::vector<std::string>{"nic0.0", "leaf0", "nic1.0", "gpu4"});
}

TEST_CASE("routes: on rails a flow changes rail over NVLink, or over a spine when told to",
          "[topologies]") {
  const Fabric fabric = built(clos_fabric(FabricKind::rail_optimized, 16, 4, 8));
  CHECK(nodes_on(fabric, routed(fabric, 0, 5)) ==
        std::vector<std::string>{"nvswitch0", "gpu1", "nic0.1", "leaf1", "nic1.1", "gpu5"});
  RouteChoice plain;
  plain.rail_aware = false;
  const auto nodes = nodes_on(fabric, routed(fabric, 0, 5, plain));
  REQUIRE(nodes.size() == 6);
  CHECK(nodes[0] == "nic0.0");
  CHECK(nodes[1] == "leaf0");
  CHECK(nodes[2].starts_with("spine"));
  CHECK(nodes[3] == "leaf1");

  // Rails that meet nowhere else leave no choice.
  const Fabric apart = built(rail_only_fabric(12, 4, 16));
  CHECK(nodes_on(apart, routed(apart, 0, 5, plain)) ==
        std::vector<std::string>{"nvswitch0", "gpu1", "nic0.1", "leaf1", "nic1.1", "gpu5"});
}

TEST_CASE("routes: DGX-1 GPUs without a common NVLink use one GPU in between", "[topologies]") {
  FabricSpec spec{1, nvswitch_host(8, 0), std::monostate{}};
  spec.host.scale_up = ScaleUpKind::nvlink_mesh;
  spec.host.pairs = dgx1_pairs();
  const Fabric fabric = built(spec);
  CHECK(routed(fabric, 0, 4).size() == 1);
  CHECK(routed(fabric, 0, 5).size() == 2);
  // GPU 0 and 1 share two neighbours; 0 and 4, in different quads, share none.
  const LinkSet down = down_in(fabric, {"gpu0-gpu1", "gpu0-gpu4"});
  RouteChoice choice;
  choice.down = &down;
  CHECK(routed(fabric, 0, 1, choice).size() == 2);
  CHECK(routed(fabric, 0, 4, choice).size() == 3);
}

TEST_CASE("routes: a torus takes the shorter way round every ring", "[topologies]") {
  const Fabric fabric = built(torus_fabric({5, 4}));
  int longest = 0;
  for (int to = 0; to < fabric.gpus(); to += 4) {
    const auto links = routed(fabric, 0, to);
    longest = std::max(longest,
                       static_cast<int>(std::count_if(links.begin(), links.end(), [&](LinkId link) {
                         return fabric.kind[at(link)] == LinkKind::ring;
                       })));
  }
  CHECK(longest == 5 / 2 + 4 / 2);
}

TEST_CASE("routes: a dragonfly crosses at most one global and two local cables", "[topologies]") {
  const bool plus = GENERATE(false, true);
  const Fabric fabric =
      built(plus ? dragonfly_fabric(5, 4, 2, 1, true) : dragonfly_fabric(9, 4, 2, 2));
  int longest_local = 0;
  for (int from = 0; from < fabric.gpus(); ++from)
    for (int to = 0; to < fabric.gpus(); ++to) {
      int global = 0;
      int local = 0;
      for (const LinkId link : routed(fabric, from, to)) {
        global += fabric.kind[at(link)] == LinkKind::global ? 1 : 0;
        local += fabric.kind[at(link)] == LinkKind::leaf_spine ? 1 : 0;
      }
      const int group = fabric.gpus() / (plus ? 5 : 9);
      REQUIRE(global == (from / group == to / group ? 0 : 1));
      longest_local = std::max(longest_local, local);
    }
  CHECK(longest_local == 2);
}

TEST_CASE("routes: nothing that is down is used, and whoever is still joined is still reached",
          "[topologies][property]") {
  // Per kind, failures that a network with more than one way survives.
  const std::map<std::string, std::vector<std::string>> failures{
      {"leaf-spine", {"spine0", "leaf1-spine1", "spine2>leaf3"}},
      {"fat-tree, three tiers", {"spine0", "core1", "spine4-core3"}},
      {"fat-tree, two oversubscriptions", {"spine0", "leaf1-spine1"}},
      {"rails", {"nic0.1", "leaf2", "spine0"}},
      {"rails, three tiers", {"nic3.0", "leaf5", "spine1", "core0"}},
      {"rail-only", {"nic0.0", "nic1.1", "leaf3"}},
      {"shared NICs", {"nic0.0", "spine0", "gpu9-nic1.0"}},
      {"several NICs per GPU", {"nic0.0", "nic1.7", "leaf3"}},
      {"DGX-1 mesh", {"gpu0-gpu1", "nic0.0"}},
      {"dragonfly", {"router0-router1", "router0-router4", "router5>router7"}},
      {"dragonfly+", {"spine0", "leaf1-spine1"}},
      {"2D torus", {"router0-router1", "router6"}},
      {"3D torus", {"router0-router1", "router5-router9"}}};
  int tried = 0;
  for (const auto& [name, spec] : every_kind()) {
    if (!failures.contains(name)) continue;
    ++tried;
    CAPTURE(name);
    const Fabric fabric = built(spec);
    const LinkSet down = down_in(fabric, failures.at(name));
    RouteChoice choice;
    choice.down = &down;
    std::vector<LinkId> links;
    int wrong = 0;
    for (int from = 0; from < fabric.gpus(); ++from) {
      const auto hops = hops_from(fabric, from, Scope::whole, &down);
      for (int to = 0; to < fabric.gpus(); ++to) {
        const bool found = route(fabric, from, to, choice, links);
        if (found != (hops[at(to)] >= 0)) ++wrong;
        if (!found) continue;
        if (!is_a_way(fabric, links, from, to)) ++wrong;
        for (const LinkId link : links) wrong += down[at(link)] ? 1 : 0;
      }
    }
    CHECK(wrong == 0);
  }
  CHECK(tried == static_cast<int>(failures.size()));
}

TEST_CASE("routes: a dead NIC moves its GPU's traffic over NVLink to the neighbour's rail",
          "[topologies]") {
  const Fabric fabric = built(clos_fabric(FabricKind::rail_optimized, 16, 4, 8));
  const LinkSet down = down_in(fabric, {"nic0.0"});
  RouteChoice choice;
  choice.down = &down;
  CHECK(nodes_on(fabric, routed(fabric, 0, 4, choice)) ==
        std::vector<std::string>{"nvswitch0", "gpu1", "nic0.1", "leaf1", "nic1.1", "gpu5",
                                 "nvswitch1", "gpu4"});
}

TEST_CASE("routes: a dead cable's flows spread over all that are left", "[topologies]") {
  const Fabric fabric = built(clos_fabric(FabricKind::rail_optimized, 128, 8, 64));
  const LinkSet down = down_in(fabric, {"leaf0-spine0"});
  RouteChoice choice;
  choice.down = &down;
  std::map<LinkId, int> before;
  std::map<LinkId, int> after;
  for (int host = 0; host < 32; ++host)
    for (int to = 32; to < 128; ++to) {
      ++before[routed(fabric, 8 * host, 8 * to).at(2)];
      ++after[routed(fabric, 8 * host, 8 * to, choice).at(2)];
    }
  // Two of 32 cables are gone; 3072 flows on 30 others: 102 each, and no one twice its share.
  CHECK(after.size() == 30);
  for (const auto& [link, count] : after) {
    CHECK(count >= before[link]);
    CHECK(count < 2 * 102);
  }
}

TEST_CASE("routes: no way left is said, not invented", "[topologies][error]") {
  const Fabric fabric = built(clos_fabric(FabricKind::leaf_spine, 16, 2, 8));
  const LinkSet down = down_in(fabric, {"spine0", "spine1", "spine2", "spine3"});
  RouteChoice choice;
  choice.down = &down;
  std::vector<LinkId> links{1, 2, 3};
  CHECK_FALSE(route(fabric, 0, 31, choice, links));
  CHECK(links.empty());
  CHECK(route(fabric, 0, 2, choice, links));
}

/// The NIC ports of a flow from GPU 0 to GPU `to`, sender's and receiver's, by number in the
/// fabric.
std::pair<int, int> ports_of(const Fabric& fabric, int to, int flow, std::uint64_t seed) {
  RouteChoice choice;
  choice.seed = seed;
  choice.flow = flow;
  std::pair<int, int> ports{-1, -1};
  for (const LinkId link : routed(fabric, 0, to, choice)) {
    if (fabric.kind[at(link)] != LinkKind::nic) continue;
    (link % 2 == 0 ? ports.first : ports.second) = (link - fabric.first_nic_link) / 2;
  }
  return ports;
}

TEST_CASE(
    "routes: a flow keeps its port on planes of their own, and arrives on any where they meet",
    "[topologies]") {
  // 16 hosts of 2 GPUs, a NIC of two ports beside each; 4 hosts below a leaf. Host 8 is leaves
  // away.
  const Fabric apart = built(ported_fabric(16, 2, 2, 8, false));
  const Fabric meeting = built(ported_fabric(16, 2, 2, 8, true));
  CHECK(apart.planes == 2);
  CHECK(meeting.planes == 1);
  const int first_port = 8 * 4;  // of GPU 16
  int crossed = 0;
  for (std::uint64_t seed = 0; seed < 64; ++seed)
    for (const int flow : {0, 1}) {
      CHECK(ports_of(apart, 16, flow, seed) == std::pair{flow, first_port + flow});
      const auto [out, in] = ports_of(meeting, 16, flow, seed);
      CHECK(out == flow);
      crossed += in - first_port == flow ? 0 : 1;
      // A leaf that both are plugged into hands over by itself.
      CHECK(ports_of(meeting, 2, flow, seed) == std::pair{flow, 4 + flow});
    }
  CHECK(crossed > 40);
  CHECK(crossed < 88);
}

TEST_CASE("routes: sprayed flows take every cable of a leaf once", "[topologies]") {
  const Fabric fabric = built(clos_fabric(FabricKind::leaf_spine, 32, 1, 16));
  CHECK(flows_between_hosts(fabric, RoutingKind::ecmp, 3) == 3);
  const int flows = flows_between_hosts(fabric, RoutingKind::spray, 1);
  REQUIRE(flows == fabric.clos.uplinks_per_leaf);
  std::map<LinkId, int> used;
  for (RouteChoice choice; choice.flow < flows; ++choice.flow) {
    choice.uplink = spray_uplink(fabric, choice.flow);
    for (const LinkId link : routed(fabric, 0, 31, choice))
      if (fabric.kind[at(link)] == LinkKind::leaf_spine) ++used[link];
  }
  CHECK(used.size() == 2 * at(flows));
  for (const auto& [link, times] : used) CHECK(times == 1);
  // Two ports: every plane's leaf has its own cables.
  const Fabric planes = built(ported_fabric(16, 2, 2, 8, false));
  CHECK(flows_between_hosts(planes, RoutingKind::ecmp, 3) == 4);
  CHECK(flows_between_hosts(planes, RoutingKind::spray, 1) == 2 * planes.clos.uplinks_per_leaf);
}

}  // namespace
}  // namespace foretrain
