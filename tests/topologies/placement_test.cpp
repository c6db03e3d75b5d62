// SPDX-License-Identifier: Apache-2.0
#include "topologies/fabrics/placement.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "tests/topologies/fabric_specs.hpp"

namespace foretrain {
namespace {

std::vector<int> placed(const Fabric& fabric, const PlacementSpec& spec) {
  return std::get<std::vector<int>>(place_ranks(fabric, spec));
}

std::vector<int> hosts_of(const Fabric& fabric, const std::vector<int>& gpus) {
  std::vector<int> hosts;
  for (std::size_t rank = 0; rank < gpus.size();
       rank += static_cast<std::size_t>(fabric.spec.host.gpus))
    hosts.push_back(gpus[rank] / fabric.spec.host.gpus);
  return hosts;
}

/// Eight hosts of two GPUs and NICs, two hosts below each of four leaves.
Fabric four_leaves() { return built(clos_fabric(FabricKind::leaf_spine, 8, 2, 8)); }

TEST_CASE("placement: packed on an empty fabric puts rank r on GPU r", "[topologies][placement]") {
  for (const auto& [name, spec] : every_kind()) {
    CAPTURE(name);
    const Fabric fabric = built(spec);
    std::vector<int> in_order(static_cast<std::size_t>(fabric.gpus()));
    std::iota(in_order.begin(), in_order.end(), 0);
    CHECK(placed(fabric, {fabric.gpus()}) == in_order);
  }
}

TEST_CASE("placement: every kind gives each rank a GPU of its own and keeps hosts whole",
          "[topologies][placement][property]") {
  for (const auto& [name, spec] : every_kind()) {
    CAPTURE(name);
    const Fabric fabric = built(spec);
    const int gpus = fabric.spec.host.gpus;
    for (const PlacementKind kind :
         {PlacementKind::packed, PlacementKind::spread, PlacementKind::scrambled}) {
      CAPTURE(name_of(kind));
      const std::vector<int> gpu_of = placed(fabric, {fabric.gpus(), kind, 7});
      CHECK(std::set<int>(gpu_of.begin(), gpu_of.end()).size() == gpu_of.size());
      int apart = 0;
      for (int rank = 0; rank < fabric.gpus(); ++rank) {
        const int first = gpu_of[static_cast<std::size_t>(rank - rank % gpus)];
        if (gpu_of[static_cast<std::size_t>(rank)] != first + rank % gpus) ++apart;
      }
      CHECK(apart == 0);
    }
  }
}

TEST_CASE("placement: spread takes a host below every leaf before a second below any",
          "[topologies][placement]") {
  const Fabric fabric = four_leaves();
  REQUIRE(fabric.count(NodeKind::leaf) == 4);
  CHECK(hosts_of(fabric, placed(fabric, {8, PlacementKind::spread})) ==
        std::vector<int>{0, 2, 4, 6});
  CHECK(hosts_of(fabric, placed(fabric, {16, PlacementKind::spread})) ==
        std::vector<int>{0, 2, 4, 6, 1, 3, 5, 7});
}

TEST_CASE("placement: on rails, hosts of one scalable unit count as below one leaf",
          "[topologies][placement]") {
  // Radix 8: four NICs below a leaf, so units of four hosts on all four rails.
  const Fabric fabric = built(clos_fabric(FabricKind::rail_optimized, 16, 4, 8));
  CHECK(leaf_group(fabric, 0) == leaf_group(fabric, 3));
  CHECK(leaf_group(fabric, 3) != leaf_group(fabric, 4));
  CHECK(hosts_of(fabric, placed(fabric, {16, PlacementKind::spread})) ==
        std::vector<int>{0, 4, 8, 12});
}

TEST_CASE("placement: scrambled uses the hosts of packed, in an order that the seed decides",
          "[topologies][placement]") {
  const Fabric fabric = four_leaves();
  const auto first = hosts_of(fabric, placed(fabric, {12, PlacementKind::scrambled, 1}));
  CHECK(first == hosts_of(fabric, placed(fabric, {12, PlacementKind::scrambled, 1})));
  auto sorted = first;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == std::vector<int>{0, 1, 2, 3, 4, 5});
  CHECK(first != sorted);
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    orders.insert(hosts_of(fabric, placed(fabric, {16, PlacementKind::scrambled, seed})));
  CHECK(orders.size() == 50);
}

TEST_CASE("placement: other jobs' hosts are left out", "[topologies][placement]") {
  const Fabric fabric = four_leaves();
  CHECK(hosts_of(fabric, placed(fabric, {6, PlacementKind::packed, 1, {0, 1, 4}})) ==
        std::vector<int>{2, 3, 5});
  // Leaf 0 is full; leaf 2 has one host left, which comes second in its round.
  CHECK(hosts_of(fabric, placed(fabric, {10, PlacementKind::spread, 1, {0, 1, 4}})) ==
        std::vector<int>{2, 5, 6, 3, 7});
}

TEST_CASE("placement: too many ranks, and hosts that are not there, are refused with a reason",
          "[topologies][placement][error]") {
  const Fabric fabric = four_leaves();
  const auto reason = [&](const PlacementSpec& spec) {
    return std::get<Infeasible>(place_ranks(fabric, spec)).message;
  };
  CHECK(reason({17}) == "17 ranks need 9 hosts, and 8 of 8 are free");
  CHECK(reason({16, PlacementKind::packed, 1, {3}}) ==
        "16 ranks need 8 hosts, and 7 of 8 are free");
  CHECK(reason({2, PlacementKind::packed, 1, {8}}) == "there is no host 8");
}

}  // namespace
}  // namespace foretrain
