// SPDX-License-Identifier: Apache-2.0
// The closed form's shares of dragonfly and torus against cables counted on routes.
#include "models/network/network_share.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <tuple>

#include "tests/topologies/fabric_specs.hpp"
#include "topologies/fabrics/clos.hpp"
#include "topologies/routes/routing.hpp"

namespace foretrain {
namespace {

Cluster cluster_of(int hosts, int nics) {
  Cluster cluster;
  cluster.hosts = hosts;
  cluster.host.gpus = cluster.host.nics = nics;
  cluster.host.gpu_link.bandwidth = 450 * GBps;
  cluster.host.pcie.bandwidth = 64 * GBps;
  cluster.network.nic_link = {"ndr", "", 400 * Gbps, 0.5 * us, 1.0};
  return cluster;
}

Cluster torus(std::vector<int> size, int nics, BytesPerSecond channel) {
  int hosts = 1;
  for (const int side : size) hosts *= side;
  Cluster cluster = cluster_of(hosts, nics);
  cluster.network.kind = FabricKind::torus;
  cluster.network.torus = {std::move(size), channel};
  return cluster;
}

Cluster dragonfly(const DragonflyShape& shape, int nics) {
  Cluster cluster = cluster_of(shape.groups * shape.routers * shape.nics_per_router / nics, nics);
  cluster.network.kind = FabricKind::dragonfly;
  cluster.network.dragonfly = shape;
  return cluster;
}

/// Flows over every link of the network, each of a NIC's rate, in units of what the link carries.
class Counted {
 public:
  explicit Counted(const Cluster& cluster)
      : fabric_{built(fabric_spec(cluster))}, load_(fabric_.from.size(), 0.0) {}

  /// The equally numbered GPUs of two hosts; adaptive, so that equal ways are used alike.
  void add(int from, int to, double rate) {
    const int gpus = fabric_.spec.host.gpus;
    for (int i = 0; i < gpus; ++i) {
      RouteChoice choice;
      choice.load = &load_;
      REQUIRE(route(fabric_, from * gpus + i, to * gpus + i, choice, links_));
      for (const LinkId link : links_) load_[static_cast<std::size_t>(link)] += rate;
    }
  }
  [[nodiscard]] double share() const {
    double most = 1.0;
    for (auto link = static_cast<std::size_t>(fabric_.first_tier); link < load_.size(); ++link)
      most = std::max(most, load_[link] * fabric_.spec.host.nic.value() / fabric_.capacity[link]);
    return 1.0 / most;
  }

 private:
  Fabric fabric_;
  std::vector<double> load_;
  std::vector<LinkId> links_;
};

double counted_shift(const Cluster& cluster, int apart) {
  // Without the last hosts, whose partners are the first: the formula leaves that turn out.
  Counted counted{cluster};
  for (int host = 0; host + apart < cluster.hosts; ++host) counted.add(host, host + apart, 1.0);
  return counted.share();
}

double counted_exchange(const Cluster& cluster, int span) {
  Counted counted{cluster};
  for (int first = 0; first + span <= cluster.hosts; first += span)
    for (int from = first; from < first + span; ++from)
      for (int to = first; to < first + span; ++to)
        if (from != to) counted.add(from, to, 1.0 / (span - 1));
  return counted.share();
}

TEST_CASE("network share: neighbours on a torus share no cable", "[topologies][share]") {
  const Cluster wide = torus({4, 4}, 2, 800 * Gbps);
  CHECK(shift_share(wide, 1, 16) == 1.0);
  CHECK(counted_shift(wide, 1) == 1.0);
  // Two NICs of 400 Gbit/s into a cable of 400.
  const Cluster narrow = torus({4, 4}, 2, 400 * Gbps);
  CHECK(shift_share(narrow, 1, 16) == 0.5);
  CHECK(counted_shift(narrow, 1) == 0.5);
}

TEST_CASE("network share: a torus halves what hosts two apart get, and rows cost one cable",
          "[topologies][share]") {
  const Cluster cluster = torus({8, 4}, 1, 400 * Gbps);
  CHECK(shift_share(cluster, 2, 32) == 0.5);
  CHECK(shift_share(cluster, 3, 32) == Approx(1.0 / 3.0));
  CHECK(shift_share(cluster, 7, 32) == 1.0);   // one back along a ring of eight
  CHECK(shift_share(cluster, 8, 32) == 1.0);   // the next row
  CHECK(shift_share(cluster, 16, 32) == 0.5);  // two rows
  for (const int apart : {8, 16, 24})
    CHECK(counted_shift(cluster, apart) == Approx(shift_share(cluster, apart, 32)));
  // Flows that wrap into the next row meet some that do not: a little less than the formula.
  CHECK(counted_shift(cluster, 2) == Approx(0.5).epsilon(0.35));
}

TEST_CASE("network share: all-to-all on a torus gets the bisection of its longest ring",
          "[topologies][share]") {
  // Dally and Towles: a ring of k nodes with uniform traffic carries k/8 of a node per cable.
  const Cluster ring8 = torus({8, 2}, 1, 400 * Gbps);
  CHECK(all_pairs_share(ring8, 16) == Approx(15.0 / 16.0));
  const Cluster ring16 = torus({16, 2}, 1, 400 * Gbps);
  CHECK(all_pairs_share(ring16, 32) == Approx(0.5 * 31.0 / 32.0));
  for (const Cluster& cluster :
       {ring8, ring16, torus({5, 5}, 2, 400 * Gbps), torus({4, 4, 4}, 1, 100 * Gbps)}) {
    CAPTURE(cluster.hosts);
    const double formula = all_pairs_share(cluster, cluster.hosts);
    const double counted = counted_exchange(cluster, cluster.hosts);
    // Minimal routes cannot do better than the mean over cables, and adaptive ones come near it.
    CHECK(counted <= formula * (1.0 + 1e-9));
    CHECK(counted >= 0.7 * formula);
  }
}

TEST_CASE("network share: a line of a torus does all-to-all over its middle cable",
          "[topologies][share]") {
  const Cluster cluster = torus({8, 8}, 1, 400 * Gbps);
  CHECK(all_pairs_share(cluster, 4) == Approx(0.75));
  CHECK(counted_exchange(cluster, 4) == Approx(0.75));
  CHECK(all_pairs_share(cluster, 2) == 1.0);
}

TEST_CASE("network share: neighbours on a dragonfly meet where routers and groups do",
          "[topologies][share]") {
  // Kim et al.: a = 2p = 2h, g = a h + 1.
  const Cluster balanced = dragonfly({9, 4, 2, 2}, 1);
  CHECK(shift_share(balanced, 1, 72) == 1.0);
  CHECK(counted_shift(balanced, 1) == 1.0);
  // Both hosts of a router send over its one cable to the next, and two of eight to the next group.
  CHECK(shift_share(balanced, 2, 72) == 0.5);
  CHECK(counted_shift(balanced, 2) == 0.5);
  // The adversarial pattern of section 4: a whole group to the next, over one global cable.
  CHECK(shift_share(balanced, 8, 72) == Approx(1.0 / 8.0));
  CHECK(counted_shift(balanced, 8) == Approx(1.0 / 8.0));
  // Eight NICs of a host on one router: its ring has one cable to the next router.
  const Cluster hosts8 = dragonfly({3, 8, 8, 4}, 8);
  CHECK(shift_share(hosts8, 1, 24) == Approx(1.0 / 8.0));
  CHECK(counted_shift(hosts8, 1) == Approx(1.0 / 8.0));
}

TEST_CASE("network share: a balanced dragonfly carries all-to-all without loss",
          "[topologies][share]") {
  for (const DragonflyShape& shape :
       {DragonflyShape{9, 4, 2, 2}, DragonflyShape{5, 4, 4, 1}, DragonflyShape{5, 4, 4, 2},
        DragonflyShape{9, 4, 4, 2}, DragonflyShape{5, 4, 2, 1, true},
        DragonflyShape{3, 4, 4, 1, true}}) {
    const Cluster cluster = dragonfly(shape, 1);
    CAPTURE(shape.groups, shape.routers, shape.nics_per_router, shape.global_ports, shape.plus);
    const double formula = all_pairs_share(cluster, cluster.hosts);
    const double counted = counted_exchange(cluster, cluster.hosts);
    CHECK(counted == Approx(formula).epsilon(0.25));
  }
  CHECK(all_pairs_share(dragonfly({9, 4, 2, 2}, 1), 72) > 0.9);
}

TEST_CASE("network share: within a group of a dragonfly the cables between routers decide",
          "[topologies][share]") {
  const Cluster cluster = dragonfly({3, 4, 4, 2}, 1);
  // Sixteen hosts, four per router: 16 pairs of hosts per cable, each 1/15 of a NIC's rate.
  CHECK(all_pairs_share(cluster, 16) == Approx(15.0 / 16.0));
  CHECK(counted_exchange(cluster, 16) == Approx(15.0 / 16.0));
  CHECK(all_pairs_share(cluster, 4) == 1.0);
}

TEST_CASE("network share: tiers lose what their oversubscription says, by leaf and by pod",
          "[topologies][share]") {
  Cluster cluster = cluster_of(64, 1);
  cluster.network.kind = FabricKind::fat_tree;
  cluster.network.oversubscription = 2.0;
  cluster.network.spine_oversubscription = 3.0;
  REQUIRE(!size_network(cluster, 8));
  const int leaf = cluster.network.hosts_per_leaf;
  const int pod = cluster.network.hosts_per_pod;
  REQUIRE((1 < leaf && leaf < pod && pod < 64));
  for (const auto share : {shift_share(cluster, 1, leaf), all_pairs_share(cluster, leaf)})
    CHECK(share == 1.0);
  for (const auto share : {shift_share(cluster, 1, pod), all_pairs_share(cluster, pod)})
    CHECK(share == 0.5);
  for (const auto share : {shift_share(cluster, 1, pod + 1), all_pairs_share(cluster, 64)})
    CHECK(share == Approx(0.5 / 3.0));
}

}  // namespace
}  // namespace foretrain
