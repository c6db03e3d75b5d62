// SPDX-License-Identifier: Apache-2.0
#include "topologies/fabrics/fabric_checks.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "tests/topologies/clos_specs.hpp"
#include "tests/topologies/fabric_specs.hpp"

namespace foretrain {
namespace {

/// Networks of one, two and three tiers, some with a last leaf or pod that is not full.
struct Example {
  FabricKind kind;
  int hosts, nics, radix;
  double ratio;
};
const std::vector<Example> examples{
    {FabricKind::single_switch, 4, 2, 8, 1.0},    {FabricKind::leaf_spine, 8, 2, 8, 1.0},
    {FabricKind::leaf_spine, 16, 2, 8, 1.0},      {FabricKind::leaf_spine, 16, 2, 12, 2.0},
    {FabricKind::leaf_spine, 15, 2, 12, 3.0},     {FabricKind::fat_tree, 16, 1, 4, 1.0},
    {FabricKind::fat_tree, 54, 1, 6, 1.0},        {FabricKind::fat_tree, 40, 1, 6, 1.0},
    {FabricKind::fat_tree, 32, 2, 8, 2.0},        {FabricKind::fat_tree, 9, 8, 8, 1.0},
    {FabricKind::rail_optimized, 16, 4, 8, 1.0},  {FabricKind::rail_optimized, 32, 4, 8, 1.0},
    {FabricKind::rail_optimized, 13, 4, 16, 1.0}, {FabricKind::rail_optimized, 24, 2, 12, 2.0},
    {FabricKind::rail_optimized, 128, 8, 64, 1.0}};

ClosSpec spec_of(const Example& e) { return clos_spec(e.kind, e.hosts, e.nics, e.radix, e.ratio); }

Fabric fabric_of(const Example& e) {
  return built(clos_fabric(e.kind, e.hosts, e.nics, e.radix, e.ratio));
}

TEST_CASE("fabric: every pair is connected, the longest path as the arithmetic says",
          "[topologies][property]") {
  for (const auto& example : examples) {
    const ClosNetwork network = sized(spec_of(example));
    const Fabric fabric = fabric_of(example);
    CAPTURE(name_of(example.kind), example.hosts, example.nics, example.radix, example.ratio);
    CHECK_FALSE(disconnected(fabric));
    int longest = 0;
    int longest_on_rail = 0;
    for (int from = 0; from < fabric.count(NodeKind::nic); ++from) {
      const auto hops = hops_from(fabric, fabric.node(NodeKind::nic, from), Scope::network);
      for (int to = 0; to < fabric.count(NodeKind::nic); ++to) {
        const int cables = hops[static_cast<std::size_t>(fabric.node(NodeKind::nic, to))];
        REQUIRE(cables >= 0);
        longest = std::max(longest, cables);
        if (from % example.nics == to % example.nics)
          longest_on_rail = std::max(longest_on_rail, cables);
      }
    }
    CHECK(longest == network.longest_hops);
    CHECK(longest_on_rail == 2 * network.switch_levels);
  }
}

TEST_CASE("fabric: no switch has more cables than ports", "[topologies][property]") {
  for (const auto& example : examples) {
    const Fabric fabric = fabric_of(example);
    CAPTURE(name_of(example.kind), example.hosts, example.nics, example.radix, example.ratio);
    for (NodeId node = fabric.node(NodeKind::leaf, 0); node < fabric.nodes(); ++node) {
      CHECK(ports_used(fabric, node) >= 1);
      CHECK(ports_used(fabric, node) <= example.radix);
    }
  }
}

/// The two sides of a cut that keeps leaves, and pods, whole.
struct Halves {
  std::vector<NodeId> left, right;
};

NodeId leaf_under(const Fabric& fabric, NodeId nic) {
  const LinkId up = fabric.first_nic_link + 2 * (nic - fabric.node(NodeKind::nic, 0));
  return fabric.to[static_cast<std::size_t>(up)];
}

Halves halves_by_leaf(const Fabric& fabric) {
  Halves halves;
  const NodeId first_leaf = fabric.node(NodeKind::leaf, 0);
  for (int i = 0; i < fabric.count(NodeKind::nic); ++i) {
    const NodeId nic = fabric.node(NodeKind::nic, i);
    const bool left = fabric.clos.tiers == 1
                          ? 2 * (i / fabric.spec.host.nics) < fabric.spec.hosts
                          : 2 * (leaf_under(fabric, nic) - first_leaf) < fabric.clos.leaves;
    (left ? halves.left : halves.right).push_back(nic);
  }
  return halves;
}

TEST_CASE("fabric: maximum flow between halves is the closed-form bisection",
          "[topologies][property]") {
  int compared = 0;
  for (const auto& example : examples) {
    const Fabric fabric = fabric_of(example);
    const Halves halves = halves_by_leaf(fabric);
    // The closed form speaks of equal halves.
    if (halves.left.size() != halves.right.size()) continue;
    ++compared;
    CAPTURE(name_of(example.kind), example.hosts, example.nics, example.radix, example.ratio);
    const BytesPerSecond flow = max_flow(fabric, halves.left, halves.right, Scope::network);
    CHECK(flow.in(GBps) / (0.5 * fabric.gpus()) ==
          Approx(sized(spec_of(example)).bisection_per_gpu.in(GBps)));
  }
  CHECK(compared >= 10);
}

TEST_CASE("fabric: one leaf's NICs get the cross-leaf share to all others",
          "[topologies][property]") {
  for (const auto& example : examples) {
    const Fabric fabric = fabric_of(example);
    if (fabric.clos.tiers == 1) continue;
    std::vector<NodeId> inside;
    std::vector<NodeId> outside;
    for (int i = 0; i < fabric.count(NodeKind::nic); ++i) {
      const NodeId nic = fabric.node(NodeKind::nic, i);
      const bool first = leaf_under(fabric, nic) == fabric.node(NodeKind::leaf, 0);
      (first ? inside : outside).push_back(nic);
    }
    CAPTURE(name_of(example.kind), example.hosts, example.nics, example.radix, example.ratio);
    REQUIRE(inside.size() == static_cast<std::size_t>(fabric.clos.nics_per_leaf));
    const double share = max_flow(fabric, inside, outside, Scope::network) /
                         (static_cast<double>(inside.size()) * fabric.spec.host.nic);
    CHECK(share == Approx(fabric.clos.cross_leaf_share));
  }
}

TEST_CASE("fabric: a lost spine is seen by the flow", "[topologies]") {
  // Guards the checks above: they must notice a cable that is not there.
  const Fabric fabric = built(clos_fabric(FabricKind::leaf_spine, 16, 2, 8));
  const Halves halves = halves_by_leaf(fabric);
  const auto whole = max_flow(fabric, halves.left, halves.right, Scope::network);
  const LinkSet down = down_in(fabric, {"spine0"});
  CHECK(max_flow(fabric, halves.left, halves.right, Scope::network, &down).value() ==
        Approx(whole.value() * (1.0 - 1.0 / fabric.clos.spines)));
}

TEST_CASE("fabric: halves of the hosts carry the closed-form bisection of every kind",
          "[topologies][property]") {
  int compared = 0;
  for (const auto& [name, spec] : every_kind()) {
    CAPTURE(name);
    const Fabric fabric = built(spec);
    const auto formula = closed_form_bisection(fabric);
    if (!formula) continue;
    // The formula is the worst halving; hosts that share a leaf do better.
    CHECK(bisection(fabric).value() >= formula->value() * (1.0 - 1e-9));
    ++compared;
  }
  CHECK(compared >= 11);
  const auto equal = [](const FabricSpec& spec) {
    const Fabric fabric = built(spec);
    CHECK(bisection(fabric).value() == Approx(closed_form_bisection(fabric).value().value()));
  };
  equal(clos_fabric(FabricKind::fat_tree, 128, 1, 8));
  equal(clos_fabric(FabricKind::leaf_spine, 16, 2, 12, 2.0));
  equal(clos_fabric(FabricKind::rail_optimized, 32, 4, 8));
  equal(rail_only_fabric(16, 4, 8));
  equal(torus_fabric({3, 4}));
  equal(torus_fabric({2, 4, 4}));
  equal(dragonfly_fabric(6, 5, 3, 1));
}

TEST_CASE("fabric: diameters of known networks", "[topologies]") {
  // Cables between switches, plus GPU-NIC and NIC-switch at both ends.
  CHECK(diameter(built(clos_fabric(FabricKind::fat_tree, 128, 1, 8))) == 4 + 4);
  CHECK(diameter(built(dragonfly_fabric(9, 4, 2, 2))) == 3 + 4);
  CHECK(diameter(built(dragonfly_fabric(5, 4, 2, 1, true))) == 3 + 4);
  CHECK(diameter(built(torus_fabric({8, 6}))) == 4 + 3 + 4);
  CHECK(diameter(built(torus_fabric({4, 3, 2}))) == 2 + 1 + 1 + 4);
  CHECK(diameter(built({1, nvswitch_host(8, 0), std::monostate{}})) == 2);
}

TEST_CASE("fabric: hosts have as many disjoint ways as the smaller of NICs and uplinks",
          "[topologies]") {
  CHECK(disjoint_paths(built(clos_fabric(FabricKind::rail_optimized, 16, 4, 8)), 0, 15) == 4);
  CHECK(disjoint_paths(built(rail_only_fabric(16, 4, 8)), 0, 15) == 4);
  CHECK(disjoint_paths(built(torus_fabric({5, 4})), 0, 7) == 2);
  const Fabric fabric = built(clos_fabric(FabricKind::leaf_spine, 8, 4, 8));
  const LinkSet down = down_in(fabric, {"leaf0-spine0", "leaf0-spine1"});
  CHECK(disjoint_paths(fabric, 0, 7, &down) == 2);
}

TEST_CASE("fabric: single points of failure are the switches that alone separate GPUs",
          "[topologies]") {
  const auto points = [](const FabricSpec& spec) {
    const Fabric fabric = built(spec);
    std::vector<std::string> names;
    for (const NodeId node : single_points_of_failure(fabric))
      names.push_back(node_name(fabric, node));
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(points(clos_fabric(FabricKind::rail_optimized, 16, 4, 8)).empty());
  CHECK(points(clos_fabric(FabricKind::single_switch, 4, 2, 8)) == Names{"leaf0"});
  // Every host hangs on one leaf, but a spine is one of four.
  CHECK(points(clos_fabric(FabricKind::leaf_spine, 4, 4, 8)) ==
        Names{"leaf0", "leaf1", "leaf2", "leaf3"});
  CHECK(points({1, nvswitch_host(8, 0), std::monostate{}}) == Names{"nvswitch0"});
}

TEST_CASE("fabric: a disconnected fabric names two GPUs that cannot reach each other",
          "[topologies][error]") {
  const Fabric fabric = built(clos_fabric(FabricKind::leaf_spine, 16, 2, 8));
  const LinkSet cut = down_in(fabric, {"leaf1"});
  const auto error = disconnected(fabric, &cut);
  REQUIRE(error);
  CHECK(error->message == "the fabric is disconnected: there is no way from gpu0 to gpu4");
  const LinkSet deaf =
      down_in(fabric, {"spine0>leaf7", "spine1>leaf7", "spine2>leaf7", "spine3>leaf7"});
  CHECK(disconnected(fabric, &deaf)->message.ends_with("from gpu0 to gpu28"));
  const LinkSet mute =
      down_in(fabric, {"leaf7>spine0", "leaf7>spine1", "leaf7>spine2", "leaf7>spine3"});
  CHECK(disconnected(fabric, &mute)->message.ends_with("from gpu28 to gpu0"));
  const LinkSet spared = down_in(fabric, {"spine0"});
  CHECK_FALSE(disconnected(fabric, &spared));
}

}  // namespace
}  // namespace foretrain
