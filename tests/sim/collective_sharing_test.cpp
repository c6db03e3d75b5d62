// SPDX-License-Identifier: Apache-2.0
// What only a fabric with contention can say about collectives.
#include <catch2/catch.hpp>

#include <algorithm>

#include "models/collectives/registry.hpp"
#include "tests/sim/collective_machine.hpp"

using namespace foretrain;
using test::CollectiveMachine;
using test::gpus_from;

namespace {

constexpr double nearly_exact = 1e-9;

/// One host below each leaf and a single cable up, for all eight NICs.
constexpr int one_uplink_radix = 9;
constexpr double one_uplink = 8.0;

CollectiveWish simple_ring() { return {find_scheme("ring"), Protocol::simple}; }

CollectiveSetting routed(const CollectiveMachine& machine, RoutingKind routing,
                         std::uint64_t seed) {
  CollectiveSetting setting = machine.setting();
  setting.routing = routing;
  setting.seed = seed;
  return setting;
}

double slowdown(const CollectiveMachine& machine, const CollectiveCall& call, RoutingKind routing,
                std::uint64_t seed = 1) {
  return machine.run({call}, routed(machine, routing, seed)).end[0] / call.price.time();
}

}  // namespace

TEST_CASE("collectives on a fabric: eight groups per host share an uplink max-min",
          "[sim][collective]") {
  // Group k is one GPU of each of two hosts and moves k shares; all cross the same 49 GB/s cable.
  // Equal rates until the smallest is through, then the rest go faster, and so on.
  const CollectiveMachine machine{2, FabricKind::fat_tree, one_uplink_radix, one_uplink};
  REQUIRE(machine.fabric().clos.uplinks_per_leaf == 1);
  std::vector<CollectiveCall> calls;
  for (int k = 0; k < 8; ++k)
    calls.push_back(machine.call(CollectiveOp::all_gather, seats_of({k, 8 + k}, {8, 8}),
                                 (k + 1) * 128.0 * MiB, simple_ring()));
  const CollectiveRun run = machine.run(calls);
  const Seconds latency = calls[0].price.phases[0].latency;
  double moved = 0.0, time = 0.0;  // bytes of each that is still under way, seconds of moving
  for (int k = 0; k < 8; ++k) {
    const double half = (k + 1) * 64.0 * MiB.value();  // an all-gather of two moves half
    time += (half - moved) * (8 - k) / (49.0 * 1e9);
    moved = half;
    CAPTURE(k);
    CHECK(run.end[static_cast<std::size_t>(k)] / (latency + Seconds{time}) ==
          Approx(1.0).epsilon(nearly_exact));
  }
}

TEST_CASE("collectives on a fabric: groups on NICs of their own do not slow each other",
          "[sim][collective]") {
  const CollectiveMachine machine{16};
  std::vector<CollectiveCall> calls;
  for (int k = 0; k < 8; ++k)
    calls.push_back(
        machine.call(CollectiveOp::all_reduce, seats_of(gpus_from(k, 16, 8), {8, 8}), 1.0 * GiB));
  const CollectiveRun run = machine.run(calls);
  for (std::size_t k = 0; k < 8; ++k)
    CHECK(run.end[k] / calls[k].price.time() == Approx(1.0).epsilon(nearly_exact));
}

TEST_CASE("collectives on a fabric: eight groups collide like SimGrid's own flows",
          "[sim][collective][property]") {
  const CollectiveMachine machine{12, FabricKind::fat_tree, 12, 2.0};
  const auto seed = GENERATE(range(1, 9));
  std::vector<CollectiveCall> calls;
  for (int k = 0; k < 8; ++k)
    calls.push_back(machine.call(CollectiveOp::all_reduce, seats_of(gpus_from(k, 12, 8), {8, 8}),
                                 (1 + k % 3) * 64.0 * MiB, simple_ring()));
  CollectiveSetting setting = routed(machine, RoutingKind::ecmp, static_cast<std::uint64_t>(seed));
  const CollectiveRun ours = machine.run(calls, setting);
  setting.backend = FlowBackend::simgrid;
  const CollectiveRun reference = machine.run(calls, setting);
  bool collided = false;
  for (std::size_t k = 0; k < calls.size(); ++k) {
    CHECK(std::abs((ours.end[k] - reference.end[k]).value()) < 1e-9);
    collided = collided || ours.end[k] > 1.2 * calls[k].price.time();
  }
  CHECK(collided);
}

TEST_CASE("collectives on a fabric: an ECMP collision halves a ring", "[sim][collective]") {
  // Two GPUs of each of two hosts: a ring over two NICs. Where both flows of one direction are
  // hashed to one cable, each gets half of it, and the ring moves at the pace of its slowest link.
  const CollectiveMachine machine{4, FabricKind::fat_tree, 16};
  REQUIRE(machine.fabric().clos.tiers == 2);
  const CollectiveCall ring = machine.call(
      CollectiveOp::all_reduce, seats_of({0, 4, 8, 12}, {8, 8}), 8.0 * GiB, simple_ring());
  int free = 0, halved = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const double times = slowdown(machine, ring, RoutingKind::ecmp, seed);
    CAPTURE(seed, times);
    const bool alone = times == Approx(1.0).epsilon(nearly_exact);
    const bool half = times == Approx(2.0).epsilon(1e-3);  // latency is not doubled
    CHECK((alone || half));
    free += alone ? 1 : 0;
    halved += half ? 1 : 0;
  }
  CHECK(free > 5);
  CHECK(halved > 5);
  CHECK(slowdown(machine, ring, RoutingKind::adaptive) == Approx(1.0).epsilon(nearly_exact));
  CHECK(slowdown(machine, ring, RoutingKind::spray) == Approx(1.0).epsilon(nearly_exact));
}

TEST_CASE("collectives on a fabric: 2:1 oversubscription hurts an all-to-all, not a ring",
          "[sim][collective]") {
  // Two hosts below a leaf with eight cables up: a ring leaves it with the eight flows of one host,
  // an all-to-all with 22 parts of 23 of what 16 NICs send.
  const CollectiveMachine machine{24, FabricKind::fat_tree, 24, 2.0};
  REQUIRE(machine.fabric().clos.uplinks_per_leaf == 8);
  const Seats seats = seats_of(gpus_from(0, 192), {8, 8});
  const CollectiveCall ring =
      machine.call(CollectiveOp::all_reduce, seats, 4.0 * GiB, simple_ring());
  const CollectiveCall exchange = machine.call(CollectiveOp::all_to_all, seats, 4.0 * GiB);
  CHECK(slowdown(machine, ring, RoutingKind::adaptive) == Approx(1.0).epsilon(1e-6));
  // 16 NICs at 0.89 of their rate over 8 cables: 1.70 if spread evenly
  const double hurt = slowdown(machine, exchange, RoutingKind::adaptive);
  CHECK(hurt > 0.89 * 2.0 * 22.0 / 23.0 - 0.02);
  CHECK(hurt < 2.4);
  CHECK(slowdown(machine, exchange, RoutingKind::spray) ==
        Approx(0.89 * 2.0 * 22.0 / 23.0).epsilon(0.02));
}

TEST_CASE("collectives on a fabric: as one flow an all-to-all moves at its worst link's pace",
          "[sim][collective]") {
  const CollectiveMachine machine{24, FabricKind::fat_tree, 24, 2.0};
  const CollectiveCall exchange =
      machine.call(CollectiveOp::all_to_all, seats_of(gpus_from(0, 192), {8, 8}), 4.0 * GiB);
  CollectiveSetting setting = routed(machine, RoutingKind::adaptive, 1);
  const Seconds flows = machine.run({exchange}, setting).end[0];
  setting.most_flows = 100;
  const CollectiveRun coupled = machine.run({exchange}, setting);
  CHECK(coupled.flows == 1);
  CHECK(coupled.end[0] / flows == Approx(1.0).epsilon(0.1));
}

TEST_CASE("collectives on a fabric: what is down is routed around, or said", "[sim][collective]") {
  const CollectiveMachine machine{2};
  const CollectiveCall ring = machine.call(
      CollectiveOp::all_reduce, seats_of(gpus_from(0, 16), {8, 8}), 1.0 * GiB, simple_ring());
  const auto lose = [&](const std::vector<std::string>& names) {
    return std::get<LinkSet>(failed_links(machine.fabric(), names));
  };
  CollectiveSetting setting = machine.setting();
  const LinkSet rail = lose({"nic0.3"});
  setting.down = &rail;
  // Its channel goes over NVLink to a neighbour rail, whose 49 GB/s then carry two eighths of what
  // NVLink lets a ring move, 0.714 * 450 GB/s.
  CHECK(machine.run({ring}, setting).end[0] / ring.price.time() ==
        Approx(2.0 * 0.714 * 450.0 / 8.0 / 49.0).epsilon(0.02));
  std::vector<std::string> every;
  for (int nic = 0; nic < 8; ++nic) every.push_back("nic1." + std::to_string(nic));
  const LinkSet host = lose(every);
  setting.down = &host;
  const auto refused = run_collectives(setting, {ring});
  REQUIRE(std::holds_alternative<Infeasible>(refused));
  CHECK(std::get<Infeasible>(refused).message.find("no route is left") == 0);
}
