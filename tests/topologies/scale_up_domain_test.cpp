// SPDX-License-Identifier: Apache-2.0
// Fabrics of racks whose NVLink joins several hosts.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "tests/topologies/fabric_specs.hpp"
#include "topologies/fabrics/fabric_checks.hpp"
#include "topologies/fabrics/placement.hpp"
#include "topologies/routes/routing.hpp"

namespace foretrain {
namespace {

/// Trays of four GPUs and four NICs, of which NVLink joins `domain_hosts`.
FabricSpec rack_fabric(FabricKind kind, int hosts, int domain_hosts, int radix = 64) {
  FabricSpec spec = clos_fabric(kind, hosts, 4, radix);
  spec.domain_hosts = domain_hosts;
  return spec;
}

std::vector<LinkId> way_between(const Fabric& fabric, int from, int to,
                                const LinkSet* down = nullptr) {
  std::vector<LinkId> links;
  RouteChoice choice;
  choice.down = down;
  REQUIRE(route(fabric, from, to, choice, links));
  return links;
}

bool leaves_by_nic(const Fabric& fabric, const std::vector<LinkId>& links) {
  return std::any_of(links.begin(), links.end(), [&](LinkId link) {
    return fabric.kind[static_cast<std::size_t>(link)] == LinkKind::nic;
  });
}

std::vector<int> placed_in_racks(const Fabric& fabric, const PlacementSpec& spec) {
  const auto result = place_ranks(fabric, spec);
  if (const auto* refused = std::get_if<Infeasible>(&result)) FAIL(refused->message);
  return std::get<std::vector<int>>(result);
}

}  // namespace

TEST_CASE("domains: a rack's NVSwitch joins all of its trays, and NICs stay with the trays",
          "[topologies][domain]") {
  const Fabric fabric = built(rack_fabric(FabricKind::rail_optimized, 40, 18));
  CHECK(fabric.count(NodeKind::host_switch) == 3);  // two racks and four trays of a third
  CHECK(fabric.count(NodeKind::nic) == 160);
  CHECK(
      node_name(fabric, fabric.to[static_cast<std::size_t>(way_between(fabric, 0, 71).front())]) ==
      "nvswitch0");
  CHECK(fabric.gpus() == 160);
}

TEST_CASE("domains: GPUs of a rack reach each other over NVLink alone, those of two over NICs",
          "[topologies][domain][routing][property]") {
  for (const FabricKind kind : {FabricKind::rail_optimized, FabricKind::fat_tree}) {
    const Fabric fabric = built(rack_fabric(kind, 36, 18));
    for (int from = 0; from < fabric.gpus(); from += 5)
      for (int to = 0; to < fabric.gpus(); to += 7) {
        if (from == to) continue;
        const std::vector<LinkId> links = way_between(fabric, from, to);
        const bool same = from / 72 == to / 72;
        CAPTURE(name_of(kind), from, to);
        REQUIRE(leaves_by_nic(fabric, links) == !same);
        if (same) REQUIRE(links.size() == 2);
        REQUIRE(fabric.from[static_cast<std::size_t>(links.front())] == from);
        REQUIRE(fabric.to[static_cast<std::size_t>(links.back())] == to);
        for (std::size_t i = 1; i < links.size(); ++i)
          REQUIRE(fabric.from[static_cast<std::size_t>(links[i])] ==
                  fabric.to[static_cast<std::size_t>(links[i - 1])]);
      }
  }
}

TEST_CASE("domains: sixteen racks of 72 are one rail-optimized network of four rails",
          "[topologies][domain]") {
  for (const FabricKind kind :
       {FabricKind::rail_optimized, FabricKind::fat_tree, FabricKind::leaf_spine}) {
    CAPTURE(name_of(kind));
    const Fabric fabric = built(rack_fabric(kind, 16 * 18, 18));
    CHECK(fabric.gpus() == 1152);
    CHECK(fabric.count(NodeKind::host_switch) == 16);
    CHECK_FALSE(disconnected(fabric));
  }
  FabricSpec rails = rack_fabric(FabricKind::fat_tree, 16 * 18, 18);
  std::get<ClosShape>(rails.network).rail_only = true;
  CHECK(built(rails).planes == 4);
}

TEST_CASE("domains: a GPU without its NVLink still reaches its rack, over the network",
          "[topologies][domain][routing]") {
  const Fabric fabric = built(rack_fabric(FabricKind::rail_optimized, 36, 18));
  const auto lost = failed_links(fabric, {"nvswitch0"});
  const auto& down = std::get<LinkSet>(lost);
  CHECK(leaves_by_nic(fabric, way_between(fabric, 0, 8, &down)));
  CHECK_FALSE(leaves_by_nic(fabric, way_between(fabric, 72, 80, &down)));
}

TEST_CASE("domains: a lost tray takes the links of its GPUs and NICs, and no others",
          "[topologies][domain]") {
  const Fabric fabric = built(rack_fabric(FabricKind::rail_optimized, 36, 18));
  const auto lost = failed_links(fabric, {"tray19"});
  const auto& down = std::get<LinkSet>(lost);
  // Four GPUs, four NICs: to the NVSwitch, over PCIe, to the leaf, both ways.
  CHECK(std::count(down.begin(), down.end(), true) == 2 * (4 + 4 + 4));
  for (LinkId link = 0; link < fabric.links(); ++link) {
    if (!down[static_cast<std::size_t>(link)]) continue;
    const std::string name = link_name(fabric, link);
    CAPTURE(name);
    const bool of_gpu =
        name.find("gpu76") != std::string::npos || name.find("gpu77") != std::string::npos ||
        name.find("gpu78") != std::string::npos || name.find("gpu79") != std::string::npos;
    CHECK((of_gpu || name.find("nic19.") != std::string::npos));
  }
  CHECK(std::get<LinkSet>(failed_links(fabric, {"host19"})) == down);
  CHECK(std::holds_alternative<Infeasible>(failed_links(fabric, {"tray36"})));
}

TEST_CASE("domains: halves of a machine are whole racks, so that NVLink joins none across",
          "[topologies][domain]") {
  const Fabric fabric = built(rack_fabric(FabricKind::fat_tree, 6, 2, 16));
  CHECK(half_of_hosts(fabric) == 2);
  CHECK(bisection(fabric) / GBps == Approx(2 * 4 * 50.0));
  REQUIRE(closed_form_bisection(fabric));
  CHECK(*closed_form_bisection(fabric) / GBps == Approx(2 * 4 * 50.0));
  const Fabric one = built(rack_fabric(FabricKind::fat_tree, 6, 6, 16));
  CHECK(bisection(one) > bisection(fabric));
  CHECK_FALSE(closed_form_bisection(one));
}

TEST_CASE("domains: a job takes its segments whole, each out of one rack",
          "[topologies][domain][placement]") {
  const Fabric fabric = built(rack_fabric(FabricKind::rail_optimized, 4 * 18, 18));
  const auto hosts_of = [&](const PlacementSpec& spec) {
    std::vector<int> hosts;
    const std::vector<int> gpus = placed_in_racks(fabric, spec);
    for (std::size_t rank = 0; rank < gpus.size(); rank += 4) hosts.push_back(gpus[rank] / 4);
    return hosts;
  };
  for (const PlacementKind kind :
       {PlacementKind::packed, PlacementKind::spread, PlacementKind::scrambled}) {
    CAPTURE(name_of(kind));
    PlacementSpec spec{256, kind, 3, {}, 16};
    spec.ranks = 192;
    spec.occupied = {0, 1, 2, 20};  // the first rack has 15 trays left, too few
    const std::vector<int> hosts = hosts_of(spec);
    REQUIRE(hosts.size() == 48);
    CHECK(std::set<int>(hosts.begin(), hosts.end()).size() == 48);
    for (std::size_t first = 0; first < hosts.size(); first += 16)
      for (std::size_t i = first; i < first + 16; ++i) {
        CHECK(hosts[i] / 18 == hosts[first] / 18);
        CHECK(hosts[i] / 18 > 0);
      }
  }
  const std::vector<int> last = hosts_of({80, PlacementKind::packed, 1, {1}, 16});
  CHECK(last ==
        std::vector<int>{0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 20, 21});
  const auto refused = place_ranks(fabric, {256, PlacementKind::packed, 1, {0, 1, 2}, 16});
  REQUIRE(std::holds_alternative<Infeasible>(refused));
  CHECK(std::get<Infeasible>(refused).key == "cluster.domain");
  CHECK(std::get<Infeasible>(refused).message.find("3 times 16 of one") != std::string::npos);
}

TEST_CASE("domains: idle trays are on the fabric where others share it, else not",
          "[topologies][domain]") {
  Cluster cluster;
  cluster.host.gpus = cluster.host.nics = 4;
  cluster.host.domain_hosts = 18;
  cluster.hosts = 64;
  CHECK(fabric_spec(cluster).domain_hosts == 16);
  cluster.network.connected = 72;
  CHECK(fabric_spec(cluster).domain_hosts == 18);
  CHECK(fabric_spec(cluster).hosts == 72);
}

}  // namespace foretrain
