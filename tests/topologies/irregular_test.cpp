// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <set>

#include "models/network/network_share.hpp"
#include "tests/topologies/fabric_specs.hpp"
#include "topologies/fabrics/fabric_checks.hpp"
#include "topologies/fabrics/placement.hpp"
#include "topologies/routes/routing.hpp"

namespace foretrain {
namespace {

std::shared_ptr<const IrregularShape> map_of(const FabricSpec& spec) {
  return std::get<std::shared_ptr<const IrregularShape>>(spec.network);
}

double busiest(const FabricSpec& spec) {
  const auto shape = map_of(spec);
  return busiest_cable(std::get<SwitchGraph>(switch_graph(*shape, spec.host.nics)), *shape,
                       spec.host.nics);
}

Cluster cluster_of(FabricKind kind, int hosts, int nics, double ratio) {
  Cluster cluster;
  cluster.hosts = hosts;
  cluster.host.gpus = cluster.host.nics = nics;
  cluster.network.kind = kind;
  cluster.network.oversubscription = ratio;
  cluster.network.nic_link.bandwidth = 400 * Gbps;
  cluster.network.nic_link.latency = 0.5 * us;
  return cluster;
}

std::string refusal_of(const IrregularShape& shape, int nics_per_host) {
  return std::get<Infeasible>(switch_graph(shape, nics_per_host)).message;
}

}  // namespace

TEST_CASE("irregular fabrics: trees written cable by cable have their closed form's shares",
          "[topologies]") {
  struct Case {
    FabricKind kind;
    int hosts, nics, radix;
    double ratio;
  };
  for (const Case& one :
       {Case{FabricKind::leaf_spine, 16, 2, 8, 1.0}, Case{FabricKind::leaf_spine, 60, 1, 20, 3.0},
        Case{FabricKind::rail_optimized, 64, 8, 16, 1.0},
        Case{FabricKind::rail_optimized, 96, 4, 48, 2.0}}) {
    CAPTURE(name_of(one.kind), one.hosts, one.nics, one.radix, one.ratio);
    Cluster regular = cluster_of(one.kind, one.hosts, one.nics, one.ratio);
    REQUIRE(!size_network(regular, one.radix));
    Cluster listed = cluster_of(FabricKind::irregular, one.hosts, one.nics, 1.0);
    listed.network.irregular =
        map_of(cable_by_cable(clos_fabric(one.kind, one.hosts, one.nics, one.radix, one.ratio)));
    REQUIRE(!size_network(listed, one.radix));
    CHECK(listed.network.hosts_per_leaf == regular.network.hosts_per_leaf);
    CHECK(listed.network.path_latency.value() == Approx(regular.network.path_latency.value()));
    for (int span = 1; span <= one.hosts; ++span)
      CHECK(all_pairs_share(listed, span) == Approx(all_pairs_share(regular, span)));
  }
}

TEST_CASE("irregular fabrics: a lost spine of four leaves three quarters of the rate",
          "[topologies]") {
  // Eight leaves of four NICs, four spines: each leaf keeps three cables up.
  const FabricSpec spec = clos_fabric(FabricKind::leaf_spine, 32, 1, 8);
  REQUIRE(built(spec).count(NodeKind::leaf) == 8);
  REQUIRE(built(spec).count(NodeKind::spine) == 4);
  CHECK(busiest(cable_by_cable(spec)) == Approx(1.0));
  CHECK(busiest(cable_by_cable(spec, 8)) == Approx(4.0 / 3.0));
  CHECK(bisection(built(cable_by_cable(spec, 8))) == 0.75 * bisection(built(spec)));
}

TEST_CASE("irregular fabrics: loads of a triangle with a tail, by hand", "[topologies]") {
  // Switches 0, 1, 2 joined pairwise, 3 behind 2; one NIC each, which sends a third of its rate to
  // each other one. Over 2-3 goes all of 3's rate; over 2-1 what 2 and 3 send to 1: two thirds.
  const FabricSpec spec = irregular_fabric(
      nvswitch_host(1, 1), {{0, 1, 2, 3}, {{0, 1, 1}, {1, 2, 1}, {2, 0, 1}, {2, 3, 1}}});
  CHECK(busiest(spec) == Approx(1.0));
  // Half the traffic of the square's corners goes either way round.
  const FabricSpec square = irregular_fabric(
      nvswitch_host(1, 1), {{0, 1, 2, 3}, {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {3, 0, 1}}});
  CHECK(busiest(square) == Approx(1.0 / 3.0 + 2.0 * 0.5 / 3.0));
}

TEST_CASE("irregular fabrics: flows spread over all shortest paths, and only over these",
          "[topologies]") {
  const Fabric square = built(
      irregular_fabric(nvswitch_host(1, 1),
                       {{0, 1, 2, 3}, {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {3, 0, 1}, {0, 2, 2}}}));
  std::set<std::vector<LinkId>> far, near;
  std::vector<LinkId> links;
  for (int flow = 0; flow < 64; ++flow) {
    RouteChoice choice;
    choice.flow = flow;
    REQUIRE(route(square, 1, 3, choice, links));
    far.insert(links);
    REQUIRE(route(square, 0, 2, choice, links));
    near.insert(links);
  }
  CHECK(far.size() == 2);                    // over switch 0 or 2
  CHECK(near.size() == 2);                   // either of two parallel cables, never the way round
  CHECK(disjoint_paths(square, 1, 3) == 1);  // one NIC each
}

TEST_CASE("irregular fabrics: names, ports and a detour round a cable that is down",
          "[topologies]") {
  const Fabric fabric = built(switch_mesh());
  CHECK(node_name(fabric, fabric.node(NodeKind::leaf, 3)) == "switch3");
  CHECK(link_name(fabric, fabric.first_tier + 2) == "switch0>switch1#1");
  CHECK(ports_used(fabric, fabric.node(NodeKind::leaf, 2)) == 4 + 4);
  CHECK(closed_form_bisection(fabric) == std::nullopt);
  CHECK(leaf_group(fabric, 9) == 4);
  // From switch 2 to 3 there is one cable; without it the way is over 1 and 4, or 0 and 4.
  const LinkSet down = down_in(fabric, {"switch2-switch3"});
  RouteChoice choice;
  std::vector<LinkId> links;
  REQUIRE(route(fabric, 8, 12, choice, links));
  const std::size_t direct = links.size();
  choice.down = &down;
  REQUIRE(route(fabric, 8, 12, choice, links));
  CHECK(links.size() == direct + 2);
}

TEST_CASE("irregular fabrics: what is no network is refused by name", "[topologies]") {
  CHECK_THAT(refusal_of({{0, 0, 1}, {{0, 1, 1}}}, 2), Catch::Contains("there are 3 NICs"));
  CHECK_THAT(refusal_of({{0, 5000}, {{0, 1, 1}}}, 1), Catch::Contains("no switch 5000"));
  CHECK_THAT(refusal_of({{0, 1}, {{0, 1, 1}, {1, 0, 2}}}, 1), Catch::Contains("joined twice"));
  CHECK_THAT(refusal_of({{0, 1}, {{1, 1, 1}}}, 1), Catch::Contains("not two switches"));
  CHECK_THAT(refusal_of({{0, 1}, {}}, 1), Catch::Contains("no network in common"));
  IrregularShape line{{0, 300}, {}};
  for (int i = 0; i < 300; ++i) line.cables.push_back({i, i + 1, 1});
  CHECK_THAT(refusal_of(line, 1), Catch::Contains("255 cables apart"));
  Cluster cluster = cluster_of(FabricKind::irregular, 3, 1, 1.0);
  cluster.network.irregular = std::make_shared<IrregularShape>(IrregularShape{{0, 1}, {{0, 1, 1}}});
  const auto refused_size = size_network(cluster, 64);
  REQUIRE(refused_size);
  CHECK_THAT(refused_size->message, Catch::Contains("joins 2 hosts, not 3"));
}

}  // namespace foretrain
