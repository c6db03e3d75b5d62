// SPDX-License-Identifier: Apache-2.0
#include "topologies/fabrics/fabric.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "tests/topologies/clos_specs.hpp"
#include "tests/topologies/fabric_specs.hpp"
#include "topologies/fabrics/fabric_checks.hpp"

namespace foretrain {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

TEST_CASE("fabric: links come in pairs and nodes in blocks, GPUs first in rank order",
          "[topologies][property]") {
  for (const auto& [name, spec] : every_kind()) {
    CAPTURE(name);
    const Fabric fabric = built(spec);
    REQUIRE(fabric.links() % 2 == 0);
    REQUIRE(fabric.count(NodeKind::gpu) == spec.hosts * spec.host.gpus);
    CHECK(fabric.node(NodeKind::gpu, 0) == 0);
    for (LinkId link = 0; link < fabric.links(); ++link) {
      CHECK(fabric.from[at(link)] == fabric.to[at(link ^ 1)]);
      CHECK(fabric.from[at(link)] != fabric.to[at(link)]);
      CHECK(fabric.capacity[at(link)] > 0.0);
      CHECK(fabric.kind[at(link)] == fabric.kind[at(link ^ 1)]);
      CHECK(fabric.to[at(link)] < fabric.nodes());
    }
  }
}

TEST_CASE("fabric: every node and every link has a name of its own, and the name finds it again",
          "[topologies][property]") {
  for (const auto& [name, spec] : every_kind()) {
    CAPTURE(name);
    const Fabric fabric = built(spec);
    std::set<std::string> names;
    for (NodeId node = 0; node < fabric.nodes(); ++node) names.insert(node_name(fabric, node));
    CHECK(static_cast<int>(names.size()) == fabric.nodes());
    names.clear();
    for (LinkId link = 0; link < fabric.links(); ++link) names.insert(link_name(fabric, link));
    CHECK(static_cast<int>(names.size()) == fabric.links());
    for (LinkId link = 0; link < fabric.links(); link += 17) {
      CAPTURE(link_name(fabric, link));
      std::string one = link_name(fabric, link);
      if (one.find('#') == std::string::npos) one += "#0";
      const LinkSet down = down_in(fabric, {one});
      CHECK(down[at(link)]);
      CHECK(std::count(down.begin(), down.end(), true) == 1);
    }
  }
}

TEST_CASE("fabric: Clos networks have the switches and cables that the arithmetic says",
          "[topologies][property]") {
  for (const int hosts : {32, 96, 128, 256}) {
    const Fabric fabric = built(clos_fabric(FabricKind::rail_optimized, hosts, 8, 64));
    const ClosNetwork network = sized(clos_spec(FabricKind::rail_optimized, hosts, 8, 64));
    CAPTURE(hosts);
    CHECK(fabric.count(NodeKind::leaf) == network.leaves);
    CHECK(fabric.count(NodeKind::spine) == network.spines);
    std::map<LinkKind, int> links;
    for (const LinkKind kind : fabric.kind) ++links[kind];
    CHECK(links[LinkKind::gpu_link] == 2 * 8 * hosts);
    CHECK(links[LinkKind::pcie] == 2 * 8 * hosts);
    CHECK(links[LinkKind::nic] == 2 * 8 * hosts);
    CHECK(links[LinkKind::leaf_spine] == 2 * network.leaves * network.uplinks_per_leaf);
  }
}

TEST_CASE("fabric: four SuperPOD units of 32 hosts take 32 leaves and 16 spines", "[topologies]") {
  // As in NVIDIA's table of larger SuperPOD component counts (see clos_test.cpp): 32 leaves,
  // 16 spines, 1024 node and 1024 spine-leaf cables.
  const Fabric fabric = built(clos_fabric(FabricKind::rail_optimized, 128, 8, 64));
  CHECK(fabric.count(NodeKind::leaf) == 32);
  CHECK(fabric.count(NodeKind::spine) == 16);
  CHECK(fabric.count(NodeKind::nic) == 1024);
  CHECK(fabric.second_tier - fabric.first_tier == 2 * 1024);
}

TEST_CASE("fabric: the k-port fat-tree has 5k^2/4 switches and k^3/4 hosts", "[topologies]") {
  // Al-Fares, Loukissas, Vahdat, SIGCOMM 2008, section 3.
  const int k = GENERATE(4, 6, 8);
  const Fabric fabric = built(clos_fabric(FabricKind::fat_tree, k * k * k / 4, 1, k));
  CHECK(fabric.count(NodeKind::leaf) == k * k / 2);
  CHECK(fabric.count(NodeKind::spine) == k * k / 2);
  CHECK(fabric.count(NodeKind::core) == k * k / 4);
  for (NodeId node = fabric.node(NodeKind::leaf, 0); node < fabric.nodes(); ++node)
    CHECK(ports_used(fabric, node) == k);
}

TEST_CASE("fabric: a spine's oversubscription halves its cables to the cores", "[topologies]") {
  FabricSpec spec = clos_fabric(FabricKind::fat_tree, 128, 1, 8);
  const Fabric full = built(spec);
  std::get<ClosShape>(spec.network).spine_oversubscription = 2.0;
  const Fabric half = built(spec);
  REQUIRE(full.clos.tiers == 3);
  CHECK(half.clos.uplinks_per_spine * 2 == full.clos.uplinks_per_spine);
  CHECK(half.clos.cross_leaf_share == 1.0);
  CHECK(half.clos.cross_pod_share == 0.5);
  CHECK(bisection(half).value() == Approx(0.5 * bisection(full).value()));
}

TEST_CASE("fabric: a DGX-1 GPU spends its six NVLinks, 25 GB/s each, on four neighbours",
          "[topologies]") {
  FabricSpec spec{1, nvswitch_host(8, 0), std::monostate{}};
  spec.host.scale_up = ScaleUpKind::nvlink_mesh;
  spec.host.gpu_link = 150 * GBps;
  spec.host.pairs = dgx1_pairs();
  const Fabric fabric = built(spec);
  for (int gpu = 0; gpu < 8; ++gpu) {
    double rate = 0.0;
    for (LinkId link = 0; link < fabric.links(); ++link)
      if (fabric.from[at(link)] == gpu) rate += fabric.capacity[at(link)];
    CHECK(rate == Approx(150e9));
    CHECK(ports_used(fabric, gpu) == 4);
  }
  CHECK(diameter(fabric) == 2);
}

TEST_CASE("fabric: PCIe of a GPU is divided among its NICs", "[topologies]") {
  FabricSpec spec = clos_fabric(FabricKind::rail_optimized, 2, 8, 16);
  spec.host.gpus = 2;
  const Fabric fabric = built(spec);
  for (LinkId link = 0; link < fabric.links(); ++link)
    if (fabric.kind[at(link)] == LinkKind::pcie) CHECK(fabric.capacity[at(link)] == Approx(16e9));
}

TEST_CASE("fabric: what cannot be built is refused in one sentence", "[topologies][error]") {
  FabricSpec spec = clos_fabric(FabricKind::rail_optimized, 4, 8, 64);
  spec.host.nic = BytesPerSecond{0};
  CHECK(refused(spec).message == "the NIC link has no bandwidth, so nothing could ever cross it");
  spec = clos_fabric(FabricKind::rail_optimized, 4, 8, 64);
  spec.host.gpu_link = BytesPerSecond{0};
  CHECK(refused(spec).rule == "zero-bandwidth");
  CHECK(refused({2, nvswitch_host(8, 0), std::monostate{}}).message ==
        "2 hosts without a network are not connected");
  CHECK(refused(clos_fabric(FabricKind::single_switch, 100, 8, 64)).rule == "fabric-size");
  spec = dragonfly_fabric(9, 4, 2, 2);
  spec.hosts = 73;
  CHECK(refused(spec).message ==
        "a dragonfly of 9 groups with 4 routers has room for 72 NICs, and 73 hosts bring 73");
  CHECK(refused(dragonfly_fabric(10, 4, 2, 2)).message ==
        "the 8 global ports of a group do not reach the other 9 groups");
  spec = torus_fabric({4, 4});
  spec.hosts = 15;
  CHECK(refused(spec).message == "a torus with 16 places does not hold 15 hosts");
  CHECK(refused(torus_fabric({4, 1})).message == "a dimension of a torus has at least two hosts");
  spec = {1, nvswitch_host(4, 0), std::monostate{}};
  spec.host.scale_up = ScaleUpKind::nvlink_mesh;
  spec.host.pairs = {{0, 1, 1}, {2, 3, 1}};
  CHECK(refused(spec).message == "some GPUs of a host are more than two NVLinks apart");
}

TEST_CASE("fabric: a job that is too large is told how many hosts it needs",
          "[topologies][error]") {
  const Fabric fabric = built(clos_fabric(FabricKind::rail_optimized, 4, 8, 64));
  CHECK_FALSE(too_small(fabric, 32));
  const auto error = too_small(fabric, 33);
  REQUIRE(error);
  CHECK(error->message == "the job has 33 ranks, the fabric 32 GPUs on 4 hosts");
  CHECK(error->remedy == "use 5 hosts");
}

TEST_CASE("fabric: failures are named by switch, cable or direction; other names are refused",
          "[topologies][error]") {
  // 16 hosts of two NICs on 8-port switches: 8 leaves with 4 cables up, 4 spines.
  const Fabric fabric = built(clos_fabric(FabricKind::leaf_spine, 16, 2, 8));
  const auto count = [&](const std::vector<std::string>& names) {
    const LinkSet down = down_in(fabric, names);
    return std::count(down.begin(), down.end(), true);
  };
  CHECK(count({}) == 0);
  CHECK(count({"spine0"}) == 16);
  CHECK(count({"leaf1-spine0"}) == 2);
  CHECK(count({"spine0-leaf1"}) == 2);
  CHECK(count({"leaf1>spine0"}) == 1);
  CHECK(count({"leaf1>spine0", "spine0>leaf1", "leaf1-spine0"}) == 2);
  CHECK(count({"nic3.1"}) == 4);
  for (const char* name : {"spine4", "leaf0-leaf1", "nic3.2", "leaf", "leaf0-spine0#1", "spine-1",
                           "leaf0-spine0#x", "", "eth0"}) {
    CAPTURE(name);
    const auto error = failed_links(fabric, {"spine0", name});
    REQUIRE(std::holds_alternative<Infeasible>(error));
    CHECK(std::get<Infeasible>(error).message ==
          "the fabric has no node and no cable named '" + std::string(name) + "'");
    CHECK(std::get<Infeasible>(error).remedy ==
          "nodes are gpu0 to gpu31, nvswitch0 to nvswitch15, nic0.0 to nic15.1, leaf0 to leaf7, "
          "spine0 to spine3; a cable is two of them, as in nic0.0-leaf0");
  }
}

TEST_CASE("fabric_spec: without GPUDirect a byte crosses PCIe twice", "[topologies][fabric]") {
  Cluster cluster;
  cluster.hosts = 2;
  cluster.host.gpu_link.bandwidth = 450 * GBps;
  cluster.host.pcie.bandwidth = 64 * GBps;
  cluster.network.nic_link.bandwidth = 50 * GBps;
  CHECK(fabric_spec(cluster).host.pcie.in(GBps) == Approx(64));
  cluster.network.transport = Transport::rdma;
  CHECK(fabric_spec(cluster).host.pcie.in(GBps) == Approx(32));
}

TEST_CASE("fabric_spec: a cluster's kind, ratios and sizes reach the fabric",
          "[topologies][fabric]") {
  Cluster cluster;
  cluster.hosts = 8;
  cluster.host.gpu_link.bandwidth = 450 * GBps;
  cluster.host.pcie.bandwidth = 64 * GBps;
  Network& network = cluster.network;
  network.nic_link.bandwidth = 50 * GBps;
  network.switch_radix = 16;
  network.oversubscription = 3.0;
  network.connected = 64;
  const auto clos = std::get<ClosShape>(fabric_spec(cluster).network);
  CHECK(clos.switch_radix == 16);
  CHECK(clos.oversubscription == 3.0);
  CHECK(fabric_spec(cluster).hosts == 64);
  network.kind = FabricKind::rail_only;
  CHECK(built(fabric_spec(cluster)).planes == 8);
  network.kind = FabricKind::dragonfly;
  network.dragonfly = {8, 8, 8, 1, true};
  CHECK(built(fabric_spec(cluster)).count(NodeKind::spine) == 64);
  network.kind = FabricKind::torus;
  network.torus = {{8, 8}, 400 * Gbps};
  CHECK(built(fabric_spec(cluster)).count(NodeKind::leaf) == 64);
}

}  // namespace
}  // namespace foretrain
