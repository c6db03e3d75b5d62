// SPDX-License-Identifier: Apache-2.0
#include "planner/exchange/simgrid_platform.hpp"

#include <catch2/catch.hpp>
#include <pugixml.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "topologies/routes/routing.hpp"

namespace foretrain {
namespace {

Fabric rails_of(int hosts) {
  const HostShape host{8, ScaleUpKind::nvswitch, 450.0 * GBps, 64.0 * GBps, 8, 50.0 * GBps, {}};
  return std::get<Fabric>(
      build_fabric({hosts, host, ClosShape{FabricKind::rail_optimized, 16, 1.0}}));
}

pugi::xml_document platform_of(const Fabric& fabric, std::uint64_t seed) {
  pugi::xml_document document;
  const std::string text = simgrid_platform(fabric, Cluster{}, "rails", seed);
  REQUIRE(document.load_string(text.c_str()));
  return document;
}

/// The nodes that the links of a route of the file pass, by what their names say.
std::vector<std::string> passed(const pugi::xml_node& route) {
  std::vector<std::string> nodes{route.attribute("src").value()};
  for (const pugi::xml_node& link : route.children("link_ctn")) {
    const std::string id = link.attribute("id").value();
    const auto to = id.find("-to-");
    CHECK(id.substr(0, to) == nodes.back());
    nodes.push_back(id.substr(to + 4, id.find('-', to + 4) - to - 4));
  }
  return nodes;
}

}  // namespace

TEST_CASE("SimGrid platforms: every pair of GPUs has the route that our engine gives it",
          "[planner][export]") {
  const Fabric fabric = rails_of(8);
  const auto document = platform_of(fabric, 7);
  const pugi::xml_node zone = document.child("platform").child("zone");
  CHECK(std::string(zone.attribute("routing").value()) == "Full");
  RouteChoice choice;
  choice.seed = 7;
  std::vector<LinkId> links;
  int routes = 0;
  for (const pugi::xml_node& written : zone.children("route")) {
    const NodeId from = *find_node(fabric, written.attribute("src").value());
    const NodeId to = *find_node(fabric, written.attribute("dst").value());
    REQUIRE(route(fabric, from, to, choice, links));
    std::vector<std::string> nodes{node_name(fabric, from)};
    for (const LinkId link : links)
      nodes.push_back(node_name(fabric, fabric.to[static_cast<std::size_t>(link)]));
    REQUIRE(passed(written) == nodes);
    ++routes;
  }
  CHECK(routes == 64 * 63);
}

TEST_CASE("SimGrid platforms: parallel cables are links of their own where routes are ours",
          "[planner][export]") {
  const Fabric fabric = rails_of(8);
  const auto count = [](const pugi::xml_document& document) {
    const auto links = document.child("platform").child("zone").children("link");
    return static_cast<int>(std::distance(links.begin(), links.end()));
  };
  CHECK(count(platform_of(fabric, 1)) == fabric.links());
}

TEST_CASE("SimGrid platforms: beyond 128 GPUs routes are SimGrid's, and the file says so",
          "[planner][export]") {
  const Fabric fabric = rails_of(17);
  const std::string text = simgrid_platform(fabric, Cluster{}, "large", 1);
  CHECK(text.find("<!-- Routes: SimGrid's shortest") != std::string::npos);
  CHECK(text.find("routing=\"Dijkstra\"") != std::string::npos);
}

}  // namespace foretrain
