// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/flows/flow_network.hpp"
#include "topologies/routes/routing.hpp"

using namespace foretrain;

namespace {

struct ZoneCase {
  std::string name;
  FabricSpec spec;
};

HostShape zone_host() {
  return {8, ScaleUpKind::nvswitch, 450.0 * GBps, 64.0 * GBps, 8, 50.0 * GBps, {}};
}

/// Eight switches in a ring with chords across it, two hosts below each.
std::shared_ptr<const IrregularShape> zone_mesh() {
  auto shape = std::make_shared<IrregularShape>();
  for (int host = 0; host < 16; ++host) shape->nics.insert(shape->nics.end(), 8, host / 2);
  for (int at = 0; at < 8; ++at) shape->cables.push_back({at, (at + 1) % 8, 4});
  for (int at = 0; at < 4; ++at) shape->cables.push_back({at, at + 4, 2});
  return shape;
}

std::vector<ZoneCase> zone_cases() {
  return {{"fat tree 2:1", {16, zone_host(), ClosShape{FabricKind::fat_tree, 8, 2.0}}},
          {"rail-optimized", {16, zone_host(), ClosShape{FabricKind::rail_optimized, 16}}},
          {"dragonfly", {16, zone_host(), DragonflyShape{4, 4, 8, 3, false}}},
          {"torus", {16, zone_host(), TorusShape{{4, 4}, 100.0 * GBps}}},
          {"irregular", {16, zone_host(), zone_mesh()}}};
}

FlowNetwork network_of(const Fabric& fabric) {
  FlowNetwork network;
  for (const double rate : fabric.capacity) network.links.emplace_back(rate);
  network.fabric = &fabric;
  return network;
}

struct Played {
  std::vector<double> ends;
  std::vector<double> bytes;  ///< by link
};

/// Every GPU sends to the one `shift` further on, all at once, on `flows` ways each.
Played play_shift(const Fabric& fabric, int shift, const RouteChoice& choice, int flows,
                  FlowBackend backend) {
  const auto simulation = make_flow_simulation(network_of(fabric), backend);
  Played played;
  for (int from = 0; from < fabric.gpus(); ++from)
    for (int flow = 0; flow < flows; ++flow) {
      RouteChoice own = choice;
      own.flow = flow;
      simulation->send({from, (from + shift) % fabric.gpus(), own, 1.0 * MB, Seconds{}},
                       played.ends.size());
      played.ends.push_back(0.0);
    }
  simulation->run([&](std::uint64_t tag) { played.ends[tag] = simulation->now().value(); });
  for (const LinkRecord& link : simulation->links()) played.bytes.push_back(link.bytes.value());
  return played;
}

double most_apart(const Played& ours, const Played& theirs) {
  double worst = 0.0;
  for (std::size_t i = 0; i < ours.ends.size(); ++i)
    worst = std::max(worst, std::abs(ours.ends[i] - theirs.ends[i]));
  return worst;
}

}  // namespace

TEST_CASE("fabric zone: SimGrid finds our ECMP ways by itself, and its flows end when ours do",
          "[sim][fabric]") {
  for (const ZoneCase& one : zone_cases())
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const auto built = build_fabric(one.spec);
      CAPTURE(one.name, seed);
      const auto& fabric = std::get<Fabric>(built);
      RouteChoice choice;
      choice.seed = seed;
      const Played ours = play_shift(fabric, 37, choice, 2, FlowBackend::plug_in);
      const Played theirs = play_shift(fabric, 37, choice, 2, FlowBackend::simgrid);
      REQUIRE(most_apart(ours, theirs) < 1e-9);
      REQUIRE(ours.bytes == theirs.bytes);
      // Alone each of the two flows of a GPU has half a NIC; some meet others on the way.
      const auto [first, last] = std::minmax_element(ours.ends.begin(), ours.ends.end());
      REQUIRE(*last > 1.2 * *first);
    }
}

TEST_CASE("fabric zone: SimGrid goes round links that are down, and takes the least loaded ones",
          "[sim][fabric]") {
  const auto built = build_fabric(zone_cases()[1].spec);
  const auto& fabric = std::get<Fabric>(built);
  const auto lost = failed_links(fabric, {"spine0", "nic3.2"});
  const auto& down = std::get<LinkSet>(lost);
  std::vector<double> load(fabric.capacity.size(), 0.0);
  for (LinkId link = fabric.first_tier; link < fabric.links(); link += 6)
    load[static_cast<std::size_t>(link)] = 1.0;
  RouteChoice choice;
  choice.down = &down;
  choice.load = &load;
  const Played ours = play_shift(fabric, 40, choice, 1, FlowBackend::plug_in);
  const Played theirs = play_shift(fabric, 40, choice, 1, FlowBackend::simgrid);
  REQUIRE(most_apart(ours, theirs) < 1e-9);
  REQUIRE(ours.bytes == theirs.bytes);
  for (std::size_t link = 0; link < down.size(); ++link)
    if (down[link]) REQUIRE(theirs.bytes[link] == 0.0);
}

TEST_CASE("fabric zone: 1,024 GPUs with more links than a pool of 4,096", "[sim][fabric]") {
  const auto built =
      build_fabric({128, zone_host(), ClosShape{FabricKind::rail_optimized, 64, 2.0}});
  const auto& fabric = std::get<Fabric>(built);
  REQUIRE(fabric.links() > 4096);
  const Played ours = play_shift(fabric, 520, {}, 1, FlowBackend::plug_in);
  const Played theirs = play_shift(fabric, 520, {}, 1, FlowBackend::simgrid);
  REQUIRE(most_apart(ours, theirs) < 1e-9);
  REQUIRE(ours.bytes == theirs.bytes);
}

TEST_CASE("fabric zone: two fabrics at once keep their own hosts and links", "[sim][fabric]") {
  const auto one = build_fabric(zone_cases()[0].spec);
  const auto other = build_fabric(zone_cases()[3].spec);
  const auto& tree = std::get<Fabric>(one);
  const auto& torus = std::get<Fabric>(other);
  const Played tree_alone = play_shift(tree, 37, {}, 1, FlowBackend::simgrid);
  const auto waiting = make_flow_simulation(network_of(torus), FlowBackend::simgrid);
  waiting->send({0, 127, {}, 1.0 * MB, Seconds{}}, 0);
  REQUIRE(most_apart(play_shift(tree, 37, {}, 1, FlowBackend::simgrid), tree_alone) < 1e-9);
  double end = 0.0;
  waiting->run([&](std::uint64_t) { end = waiting->now().value(); });
  REQUIRE(std::abs(end - 1e6 / 50e9) < 1e-9);
}

TEST_CASE("fabric zone: ends need a fabric, and a way that is left", "[sim][fabric]") {
  const auto built = build_fabric({2, zone_host(), ClosShape{FabricKind::leaf_spine, 32}});
  const auto& fabric = std::get<Fabric>(built);
  const LinkSet all(fabric.capacity.size(), true);
  RouteChoice cut;
  cut.down = &all;
  for (const FlowBackend backend : {FlowBackend::plug_in, FlowBackend::simgrid}) {
    const auto drawn = make_flow_simulation(network_of(fabric), backend);
    REQUIRE_THROWS_AS(drawn->send({0, 9, cut, 1.0 * MB, Seconds{}}, 0), std::logic_error);
    const auto plain = make_flow_simulation({{1.0 * GBps}}, backend);
    REQUIRE_THROWS_AS(plain->send({0, 1, {}, 1.0 * MB, Seconds{}}, 0), std::logic_error);
  }
}
