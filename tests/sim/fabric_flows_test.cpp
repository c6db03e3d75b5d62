// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "models/forecast/path_forecast.hpp"
#include "sim/flows/flow_network.hpp"
#include "sim/step/event_run.hpp"
#include "tests/models/random_plans.hpp"
#include "topologies/routes/routing.hpp"

using namespace foretrain;

namespace {

struct NamedFabric {
  std::string name;
  FabricSpec spec;
};

HostShape host(ScaleUpKind scale_up, int nics = 8) {
  return {8, scale_up, 450.0 * GBps, 64.0 * GBps, nics, 50.0 * GBps, {}};
}

/// One of every kind, 16 hosts of 8 GPUs; radix 16 gives Clos networks two tiers, 8 three.
std::vector<NamedFabric> all_fabrics() {
  const HostShape nvswitch = host(ScaleUpKind::nvswitch);
  HostShape cube = host(ScaleUpKind::nvlink_mesh, 4);
  cube.pairs = dgx1_pairs();
  const DragonflyShape dragonfly{4, 4, 8, 3, false};
  const DragonflyShape plus{4, 4, 8, 3, true};
  // Leaves of two hosts, three spines of which one joins only half of them.
  auto irregular = std::make_shared<IrregularShape>();
  for (int at = 0; at < 16; ++at) irregular->nics.insert(irregular->nics.end(), 8, at / 2);
  for (int leaf = 0; leaf < 8; ++leaf) {
    irregular->cables.push_back({leaf, 8, 6});
    irregular->cables.push_back({leaf, 9, 6});
    if (leaf < 4) irregular->cables.push_back({leaf, 10, 4});
  }
  return {{"single switch", {16, nvswitch, ClosShape{FabricKind::single_switch, 256}}},
          {"leaf-spine", {16, nvswitch, ClosShape{FabricKind::leaf_spine, 16}}},
          {"leaf-spine 3:1", {16, nvswitch, ClosShape{FabricKind::leaf_spine, 32, 3.0}}},
          {"fat-tree", {16, nvswitch, ClosShape{FabricKind::fat_tree, 8}}},
          {"rail-optimized", {16, nvswitch, ClosShape{FabricKind::rail_optimized, 16}}},
          {"rail-only", {16, nvswitch, ClosShape{FabricKind::fat_tree, 8, 1.0, 1.0, true}}},
          {"dragonfly", {16, nvswitch, dragonfly}},
          {"dragonfly+", {16, nvswitch, plus}},
          {"2D torus", {16, nvswitch, TorusShape{{4, 4}, 100.0 * GBps}}},
          {"3D torus", {16, nvswitch, TorusShape{{4, 2, 2}, 100.0 * GBps}}},
          {"irregular", {16, nvswitch, irregular}},
          {"cube mesh, shared NICs", {16, cube, ClosShape{FabricKind::fat_tree, 16}}},
          {"PCIe, one NIC", {16, host(ScaleUpKind::pcie, 1), ClosShape{FabricKind::leaf_spine, 8}}},
          {"one host", {1, nvswitch, std::monostate{}}}};
}

struct TimedFlow {
  Seconds start;
  int from = 0;
  int to = 0;
  RouteChoice choice;
  Flow flow;  ///< its way as route() gives it here
};

/// Some whole bytes, a quarter of the flows with latency and a quarter with a rate of their own.
std::vector<TimedFlow> random_flows(const Fabric& fabric, int count, std::uint64_t seed) {
  std::mt19937_64 engine{seed};
  const auto below = [&](std::uint64_t end) { return static_cast<int>(engine() % end); };
  std::vector<TimedFlow> flows;
  std::vector<LinkId> links;
  const auto gpus = static_cast<std::uint64_t>(fabric.gpus());
  while (static_cast<int>(flows.size()) < count) {
    TimedFlow timed;
    timed.choice.seed = seed;
    timed.choice.flow = below(4);
    timed.from = below(gpus);
    timed.to = below(gpus);
    REQUIRE(route(fabric, timed.from, timed.to, timed.choice, links));
    if (links.empty()) continue;
    timed.start = 10e-9 * static_cast<double>(below(12'000'000)) * Seconds{1.0};
    for (const LinkId link : links) timed.flow.route.push_back({static_cast<std::uint32_t>(link)});
    timed.flow.bytes = Bytes{static_cast<double>(1 + below(8'000'000))};
    if (below(4) == 0) timed.flow.latency = static_cast<double>(below(50)) * us;
    if (below(4) == 0) timed.flow.max_rate = static_cast<double>(1 + below(50)) * GBps;
    flows.push_back(timed);
  }
  return flows;
}

/// SimGrid is told the ends of a flow and finds its way by itself; only one with a rate of its own
/// brings it.
std::vector<double> ends_of(const Fabric& fabric, const std::vector<TimedFlow>& flows,
                            FlowBackend backend) {
  FlowNetwork network;
  for (const double rate : fabric.capacity) network.links.emplace_back(rate);
  network.fabric = &fabric;
  const auto simulation = make_flow_simulation(network, backend);
  std::vector<double> ends(flows.size());
  const std::uint64_t count = flows.size();
  for (std::uint64_t id = 0; id < count; ++id) simulation->at(flows[id].start, count + id);
  simulation->run([&](std::uint64_t tag) {
    if (tag < count) {
      ends[tag] = simulation->now().value();
      return;
    }
    const TimedFlow& timed = flows[tag - count];
    if (is_finite(timed.flow.max_rate))
      simulation->start(timed.flow, tag - count);
    else
      simulation->send({timed.from, timed.to, timed.choice, timed.flow.bytes, timed.flow.latency},
                       tag - count);
  });
  return ends;
}

}  // namespace

TEST_CASE("flows: both back-ends agree within 1 ns on 10,000 random flows over every fabric kind",
          "[sim][fabric][property]") {
  double worst = 0.0;
  int slowed = 0;
  for (const NamedFabric& named : all_fabrics()) {
    auto built = build_fabric(named.spec);
    CAPTURE(named.name);
    REQUIRE(std::holds_alternative<Fabric>(built));
    const Fabric& fabric = std::get<Fabric>(built);
    const auto flows = random_flows(fabric, 10'000, 2026);
    const auto ours = ends_of(fabric, flows, FlowBackend::plug_in);
    const auto theirs = ends_of(fabric, flows, FlowBackend::simgrid);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      worst = std::max(worst, std::abs(ours[i] - theirs[i]));
      double alone = flows[i].flow.max_rate.value();
      for (const Hop& hop : flows[i].flow.route) alone = std::min(alone, fabric.capacity[hop.link]);
      const double least = flows[i].start.value() + flows[i].flow.latency.value() +
                           flows[i].flow.bytes.value() / alone;
      REQUIRE(ours[i] > least * (1.0 - 1e-9));
      if (ours[i] > least * (1.0 + 1e-6)) ++slowed;
    }
  }
  INFO("largest difference " << worst << " s, slowed " << slowed);
  REQUIRE(worst < 1e-9);
  REQUIRE(slowed > 10'000);
}

TEST_CASE("steps on fabrics: both back-ends agree within 1 ns on 200 random small scenarios",
          "[sim][fabric][property]") {
  test::RandomPlans plans{31};
  double worst = 0.0;
  int contended = 0;
  for (int i = 0; i < 200;) {
    Job job = plans.next();
    if (job.parallel.gpus() > 64 || job.parallel.gpus() < 2) continue;
    job.simulation.expand_collectives = true;
    job.simulation.unfold = true;
    const StageLayout layout = stage_layout(job.model, job.parallel);
    const StepPath path = step_path(job, layout, event_detail(job));
    if (path.graph.tasks.size() * static_cast<std::size_t>(job.parallel.data) > 1500 ||
        path.timeline.makespan > Seconds{4.0})
      continue;
    ++i;
    job.cluster.network.kind =
        plans.one_of({FabricKind::leaf_spine, FabricKind::fat_tree, FabricKind::rail_optimized});
    job.cluster.network.switch_radix = 16;
    FabricSpec spec = fabric_spec(job.cluster);
    spec.host.pcie = 1.0 * TBps;
    const auto built = build_fabric(spec);
    REQUIRE(std::holds_alternative<Fabric>(built));
    EventOptions options;
    const auto ours = std::get<EventRun>(run_step(job, layout, std::get<Fabric>(built), options));
    options.backend = FlowBackend::simgrid;
    const auto theirs = std::get<EventRun>(run_step(job, layout, std::get<Fabric>(built), options));
    if (ours.slowed > 0) ++contended;
    REQUIRE(ours.replica == theirs.replica);
    for (std::size_t id = 0; id < ours.timeline.end.size(); ++id)
      worst = std::max(worst, std::abs((ours.timeline.end[id] - theirs.timeline.end[id]).value()));
  }
  INFO("largest difference " << worst << " s, contended " << contended);
  REQUIRE(worst < 1e-9);
  REQUIRE(contended > 20);
}
