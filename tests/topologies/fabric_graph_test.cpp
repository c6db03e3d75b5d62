// SPDX-License-Identifier: Apache-2.0
#include "topologies/fabric_graph.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "tests/topologies/clos_specs.hpp"

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

std::size_t nics_of(const ClosSpec& spec) {
  const int nics = spec.hosts * spec.nics_per_host;
  return static_cast<std::size_t>(nics);
}

TEST_CASE("fabric: every pair is connected, the longest path as the arithmetic says",
          "[topologies][property]") {
  for (const auto& example : examples) {
    const ClosSpec spec = spec_of(example);
    const ClosNetwork network = sized(spec);
    const Fabric fabric = build_fabric(spec, network);
    CAPTURE(name_of(example.kind), example.hosts, example.nics, example.radix, example.ratio);
    int longest = 0;
    int longest_on_rail = 0;
    for (FabricVertex from = 0; from < nics_of(spec); ++from) {
      const auto hops = hops_from(fabric, from);
      REQUIRE(std::find(hops.begin(), hops.end(), -1) == hops.end());
      for (FabricVertex to = 0; to < nics_of(spec); ++to) {
        longest = std::max(longest, hops[to]);
        if (fabric[from].rail == fabric[to].rail)
          longest_on_rail = std::max(longest_on_rail, hops[to]);
      }
    }
    CHECK(longest == network.longest_hops);
    CHECK(longest_on_rail == 2 * network.switch_levels);
  }
}

TEST_CASE("fabric: no switch has more cables than ports", "[topologies][property]") {
  for (const auto& example : examples) {
    const ClosSpec spec = spec_of(example);
    const Fabric fabric = build_fabric(spec, sized(spec));
    CAPTURE(name_of(example.kind), example.hosts, example.nics, example.radix, example.ratio);
    for (const auto vertex : boost::make_iterator_range(vertices(fabric))) {
      CHECK(ports_used(fabric, vertex) >= 1);
      CHECK(ports_used(fabric, vertex) <= (vertex < nics_of(spec) ? 1 : spec.switch_radix));
    }
  }
}

/// The two sides of a cut that keeps leaves, and pods, whole.
struct Halves {
  std::vector<FabricVertex> left, right;
};

Halves halves_by_leaf(const ClosSpec& spec, const ClosNetwork& network) {
  Halves halves;
  for (int host = 0; host < spec.hosts; ++host)
    for (int rail = 0; rail < spec.nics_per_host; ++rail) {
      const int nic = host * spec.nics_per_host + rail;
      const int leaf = spec.kind == FabricKind::rail_optimized
                           ? host / network.nics_per_leaf * spec.nics_per_host + rail
                           : nic / network.nics_per_leaf;
      const bool left = network.tiers == 1 ? 2 * host < spec.hosts : 2 * leaf < network.leaves;
      (left ? halves.left : halves.right).push_back(static_cast<FabricVertex>(nic));
    }
  return halves;
}

TEST_CASE("fabric: maximum flow between halves is the closed-form bisection",
          "[topologies][property]") {
  int compared = 0;
  for (const auto& example : examples) {
    const ClosSpec spec = spec_of(example);
    const ClosNetwork network = sized(spec);
    const Halves halves = halves_by_leaf(spec, network);
    // The closed form speaks of equal halves.
    if (halves.left.size() != halves.right.size()) continue;
    ++compared;
    const Fabric fabric = build_fabric(spec, network);
    CAPTURE(name_of(example.kind), example.hosts, example.nics, example.radix, example.ratio);
    const double gpus = spec.hosts * spec.gpus_per_host / 2.0;
    const auto flow = static_cast<double>(max_flow(fabric, halves.left, halves.right));
    CHECK((flow / gpus * spec.link.bandwidth).in(GBps) ==
          Approx(network.bisection_per_gpu.in(GBps)));
  }
  CHECK(compared >= 10);
}

TEST_CASE("fabric: one leaf's NICs get the cross-leaf share to all others",
          "[topologies][property]") {
  for (const auto& example : examples) {
    const ClosSpec spec = spec_of(example);
    const ClosNetwork network = sized(spec);
    if (network.tiers == 1) continue;
    const Fabric fabric = build_fabric(spec, network);
    const FabricVertex first_leaf = nics_of(spec);
    std::vector<FabricVertex> inside;
    std::vector<FabricVertex> outside;
    for (FabricVertex nic = 0; nic < nics_of(spec); ++nic)
      (edge(nic, first_leaf, fabric).second ? inside : outside).push_back(nic);
    CAPTURE(name_of(example.kind), example.hosts, example.nics, example.radix, example.ratio);
    REQUIRE(inside.size() == static_cast<std::size_t>(network.nics_per_leaf));
    const double share =
        static_cast<double>(max_flow(fabric, inside, outside)) / static_cast<double>(inside.size());
    CHECK(share == Approx(network.cross_leaf_share));
  }
}

TEST_CASE("fabric: a lost spine is seen by the flow", "[topologies]") {
  // Guards the checks above: they must notice a cable that is not there.
  const ClosSpec spec = clos_spec(FabricKind::leaf_spine, 16, 2, 8);
  const ClosNetwork network = sized(spec);
  Fabric fabric = build_fabric(spec, network);
  const Halves halves = halves_by_leaf(spec, network);
  const long whole = max_flow(fabric, halves.left, halves.right);
  clear_vertex(nics_of(spec) + static_cast<std::size_t>(network.leaves), fabric);
  CHECK(max_flow(fabric, halves.left, halves.right) == whole - whole / network.spines);
}

}  // namespace
}  // namespace foretrain
