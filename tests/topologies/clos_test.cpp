// SPDX-License-Identifier: Apache-2.0
#include "topologies/fabrics/clos.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "tests/topologies/clos_specs.hpp"

namespace foretrain {
namespace {

Infeasible refusal(const ClosSpec& spec) { return std::get<Infeasible>(clos_network(spec)); }

TEST_CASE("rail-optimized: switch counts are those of NVIDIA's DGX SuperPOD", "[topologies]") {
  // NVIDIA DGX SuperPOD reference architecture (DGX B200), table "Larger SuperPOD component
  // counts": scalable units of 32 hosts with 8 NICs, 64-port switches.
  struct Row {
    int hosts, leaves, spines, cores;
  };
  const auto row =
      GENERATE(Row{64, 16, 8, 0}, Row{128, 32, 16, 0}, Row{256, 64, 32, 0}, Row{512, 128, 128, 64},
               Row{1024, 256, 256, 128}, Row{2048, 512, 512, 256});
  const auto network = sized(clos_spec(FabricKind::rail_optimized, row.hosts, 8, 64));
  CAPTURE(row.hosts);
  CHECK(network.leaves == row.leaves);
  CHECK(network.spines == row.spines);
  CHECK(network.cores == row.cores);
  // The cable counts of the same table: one per NIC on every tier.
  CHECK(network.leaves * network.nics_per_leaf == row.hosts * 8);
  CHECK(network.leaves * network.uplinks_per_leaf == row.hosts * 8);
  CHECK(network.spines * network.uplinks_per_spine == (row.cores > 0 ? row.hosts * 8 : 0));
}

TEST_CASE("fat-tree: k-port switches in three tiers connect k^3/4 NICs with 5k^2/4 switches",
          "[topologies][property]") {
  // Al-Fares, Loukissas, Vahdat, SIGCOMM 2008, section 3: (k/2)^2 cores, k pods of k/2 + k/2.
  const int k = GENERATE(4, 6, 8, 16, 48, 64);
  const auto network = sized(clos_spec(FabricKind::fat_tree, k * k * k / 4, 1, k));
  CAPTURE(k);
  CHECK(network.tiers == 3);
  CHECK(network.pods == k);
  CHECK(network.leaves == k * k / 2);
  CHECK(network.spines == k * k / 2);
  CHECK(network.cores == k * k / 4);
  CHECK(network.longest_hops == 6);
  CHECK(network.cross_leaf_share == 1.0);
  CHECK(refusal(clos_spec(FabricKind::fat_tree, k * k * k / 4 + 1, 1, k)).rule == "fabric-size");
}

TEST_CASE("leaf-spine: two tiers connect at most k^2/2 NICs", "[topologies][property]") {
  const int k = GENERATE(4, 8, 32, 64);
  const auto network = sized(clos_spec(FabricKind::leaf_spine, k * k / 2, 1, k));
  CAPTURE(k);
  CHECK(network.tiers == 2);
  CHECK(network.leaves == k);
  CHECK(network.spines == k / 2);
  CHECK(network.longest_hops == 4);
  const auto refused = refusal(clos_spec(FabricKind::leaf_spine, k * k / 2 + 1, 1, k));
  CHECK(refused.rule == "fabric-size");
  CHECK(refused.remedy == "use fat-tree, which adds a third tier");
}

TEST_CASE("oversubscription: a 64-port leaf at 3:1 has 48 NICs and 16 uplinks", "[topologies]") {
  const auto network = sized(clos_spec(FabricKind::leaf_spine, 96, 8, 64, 3.0));
  CHECK(network.nics_per_leaf == 48);
  CHECK(network.hosts_per_leaf == 6);
  CHECK(network.uplinks_per_leaf == 16);
  CHECK(network.cross_leaf_share == Approx(1.0 / 3.0));
  CHECK(network.bisection_per_gpu.in(GBps) == Approx(50.0 / 3.0));
}

TEST_CASE("oversubscription: whole cables never give less than the ratio promises",
          "[topologies][property]") {
  const auto kind =
      GENERATE(FabricKind::leaf_spine, FabricKind::fat_tree, FabricKind::rail_optimized);
  const double ratio = GENERATE(1.0, 1.2, 1.5, 2.0, 7.0, 31.0);
  const int hosts = GENERATE(20, 33, 128);
  const auto network = sized(clos_spec(kind, hosts, 8, 64, ratio));
  CAPTURE(name_of(kind), ratio, hosts);
  CHECK(network.nics_per_leaf + network.uplinks_per_leaf <= 64);
  CHECK(network.uplinks_per_leaf * ratio >= network.nics_per_leaf - 1e-6);
  CHECK((network.uplinks_per_leaf - 1) * ratio < network.nics_per_leaf);
  CHECK(network.cross_leaf_share >= 1.0 / ratio - 1e-9);
}

TEST_CASE("more hosts never bring a shorter path or more bandwidth per GPU",
          "[topologies][property]") {
  const auto kind = GENERATE(FabricKind::fat_tree, FabricKind::rail_optimized);
  ClosNetwork before = sized(clos_spec(kind, 1, 8, 32));
  for (int hosts = 2; hosts <= 1024; ++hosts) {
    const auto network = sized(clos_spec(kind, hosts, 8, 32));
    CAPTURE(name_of(kind), hosts);
    REQUIRE(network.switch_levels >= before.switch_levels);
    REQUIRE(network.path_latency >= before.path_latency);
    REQUIRE(network.bisection_per_gpu <= before.bisection_per_gpu);
    before = network;
  }
}

TEST_CASE("one switch is enough where every NIC has a port on it", "[topologies]") {
  const auto kind = GENERATE(FabricKind::single_switch, FabricKind::leaf_spine,
                             FabricKind::fat_tree, FabricKind::rail_optimized);
  const auto network = sized(clos_spec(kind, 8, 8, 64));
  CAPTURE(name_of(kind));
  CHECK(network.tiers == 1);
  CHECK(network.leaves == 1);
  CHECK(network.hosts_per_leaf == 0);
  CHECK(network.spines == 0);
  CHECK(network.longest_hops == 2);
  CHECK(network.path_latency.in(us) == Approx(1.2));
  CHECK(network.bisection_per_gpu.in(GBps) == Approx(50.0));
}

TEST_CASE("rail-optimized: hosts of one scalable unit are one leaf apart", "[topologies]") {
  // 32 hosts fill a leaf per rail; only traffic that changes rails would climb to a spine.
  const auto one_unit = sized(clos_spec(FabricKind::rail_optimized, 32, 8, 64));
  CHECK(one_unit.tiers == 2);
  CHECK(one_unit.switch_levels == 1);
  CHECK(one_unit.longest_hops == 4);
  CHECK(sized(clos_spec(FabricKind::rail_optimized, 33, 8, 64)).switch_levels == 2);
  CHECK(sized(clos_spec(FabricKind::rail_optimized, 2048, 8, 64)).switch_levels == 3);
  // A fat-tree of the same size has no such shortcut.
  CHECK(sized(clos_spec(FabricKind::fat_tree, 32, 8, 64)).switch_levels == 2);
}

TEST_CASE("hosts with fewer NICs than GPUs share them", "[topologies]") {
  ClosSpec spec = clos_spec(FabricKind::fat_tree, 64, 4, 64);
  spec.gpus_per_host = 8;
  CHECK(sized(spec).bisection_per_gpu.in(GBps) == Approx(25.0));
}

TEST_CASE("a host with more NICs than a leaf has room for is spread over leaves", "[topologies]") {
  const auto network = sized(clos_spec(FabricKind::fat_tree, 16, 8, 8));
  CHECK(network.nics_per_leaf == 4);
  CHECK(network.hosts_per_leaf == 1);
  CHECK(network.leaves == 32);
}

TEST_CASE("single-switch: refused when the ports run out", "[topologies][error]") {
  const auto refused = refusal(clos_spec(FabricKind::single_switch, 9, 8, 64));
  CHECK(refused.rule == "fabric-size");
  CHECK(refused.key == "cluster.fabric.kind");
  CHECK(refused.message ==
        "a single-switch network of 64-port switches cannot connect 9 hosts with 8 NICs each at "
        "this oversubscription");
  CHECK(refused.remedy == "use leaf-spine, fat-tree or rail-optimized");
}

TEST_CASE("clos_network refuses dragonfly and torus with the reason", "[topologies][error]") {
  const auto kind = GENERATE(FabricKind::dragonfly, FabricKind::torus);
  const auto refused = refusal(clos_spec(kind, 16, 8, 64));
  CHECK(refused.rule == "fabric-kind");
  CHECK(refused.message.find(std::string(name_of(kind)) +
                             " does not consist of tiers of switches") != std::string::npos);
}

TEST_CASE("sizes beyond three tiers are refused, however large", "[topologies][error]") {
  const int hosts = GENERATE(65537 / 8 + 1, 1000000, 2000000000);
  CHECK(refusal(clos_spec(FabricKind::rail_optimized, hosts, 8, 64)).rule == "fabric-size");
  CHECK(refusal(clos_spec(FabricKind::fat_tree, hosts, 8, 64)).rule == "fabric-size");
}

TEST_CASE("an oversubscription that leaves no port for an uplink is refused",
          "[topologies][error]") {
  // Two ports: one NIC, one uplink; nothing that could be 2:1 for a host of two NICs.
  CHECK(refusal(clos_spec(FabricKind::fat_tree, 64, 2, 2, 2.0)).rule == "fabric-size");
}

TEST_CASE("broken preconditions throw", "[topologies][error]") {
  CHECK_THROWS_AS(clos_network(clos_spec(FabricKind::fat_tree, 0, 8, 64)), std::logic_error);
  CHECK_THROWS_AS(clos_network(clos_spec(FabricKind::fat_tree, 8, 8, 1)), std::logic_error);
  CHECK_THROWS_AS(clos_network(clos_spec(FabricKind::fat_tree, 8, 8, 64, 0.5)), std::logic_error);
}

TEST_CASE("size_network fills what the closed form needs, or changes nothing", "[topologies]") {
  Cluster cluster;
  cluster.hosts = 128;
  cluster.network.kind = FabricKind::rail_optimized;
  cluster.network.nic_link = ndr;
  CHECK(!size_network(cluster, 64));
  CHECK(cluster.network.switch_levels == 2);
  CHECK(cluster.network.hosts_per_leaf == 32);
  CHECK(cluster.network.path_latency.in(us) == Approx(4 * 0.6));

  cluster.network.kind = FabricKind::torus;
  cluster.network.switch_levels = 7;
  cluster.network.torus = {{8, 8}, 400 * Gbps};
  CHECK(size_network(cluster, 64)->message == "a torus with 64 places does not hold 128 hosts");
  CHECK(cluster.network.switch_levels == 7);
}

TEST_CASE("size_network counts the cables of the longest way, of every kind", "[topologies]") {
  Cluster cluster;
  cluster.hosts = 64;
  Network& network = cluster.network;
  network.nic_link = ndr;
  const auto cables = [&] {
    REQUIRE(!size_network(cluster, 64));
    return network.path_latency.in(us) / ndr.latency.in(us);
  };
  network.kind = FabricKind::torus;
  network.torus = {{8, 4, 2}, 400 * Gbps};
  CHECK(cables() == Approx(2 + 4 + 2 + 1));
  network.kind = FabricKind::dragonfly;
  network.dragonfly = {8, 8, 8, 4};
  CHECK(cables() == Approx(5));
  network.dragonfly = {1, 8, 64, 0};
  CHECK(cables() == Approx(3));
  // One plane per rail: 64 NICs below one switch.
  network.kind = FabricKind::rail_only;
  CHECK(cables() == Approx(2));
  network.connected = 4096;
  CHECK(cables() == Approx(6));
  // A pod of a k-port fat-tree has k^2/4 NICs.
  CHECK(network.hosts_per_pod == 1024);
}

}  // namespace
}  // namespace foretrain
