// SPDX-License-Identifier: Apache-2.0
#include "sim/step/internal/step_traffic.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "models/data/data_parallel.hpp"
#include "models/forecast/path_forecast.hpp"
#include "sim/step/event_run.hpp"
#include "tests/models/example_job.hpp"
#include "topologies/fabrics/placement.hpp"

using namespace foretrain;

namespace {

Fabric fabric_of(const FabricSpec& spec) {
  auto built = build_fabric(spec);
  if (const auto* refused = std::get_if<Infeasible>(&built)) FAIL(refused->message);
  return std::get<Fabric>(std::move(built));
}

Fabric fabric_of_radix(const Job& job, int radix) {
  Cluster cluster = job.cluster;
  cluster.network.switch_radix = radix;
  FabricSpec spec = fabric_spec(cluster);
  spec.host.pcie = 1.0 * TBps;
  return fabric_of(spec);
}

/// Hosts with 8 GPUs and 8 NICs below one switch.
Fabric one_switch(int hosts) {
  FabricSpec spec;
  spec.hosts = hosts;
  spec.host = {8, ScaleUpKind::nvswitch, 450.0 * GBps, 64.0 * GBps, 8, 50.0 * GBps, {}};
  spec.network = ClosShape{FabricKind::single_switch, 8 * hosts};
  return fabric_of(spec);
}

std::vector<int> gpus(int first, int count, int stride = 1) {
  std::vector<int> result;
  for (int i = 0; i < count; ++i) result.push_back(first + i * stride);
  return result;
}

/// Bytes on the links of one kind that leave GPUs: all, and the most on one.
struct Sums {
  double all = 0.0;
  double most = 0.0;
  int links = 0;
};
Sums sums_of(const Fabric& fabric, const LinkLoads& loads, LinkKind kind) {
  Sums sums;
  for (const auto& [link, bytes] : loads) {
    if (fabric.kind[static_cast<std::size_t>(link)] != kind || link % 2 != 0) continue;
    sums.all += bytes;
    sums.most = std::max(sums.most, bytes);
    ++sums.links;
  }
  return sums;
}

/// A ring per rail over `hosts` hosts, gradients alone at the end.
Job data_parallel(int hosts) {
  Job job = test::llama2_70b_job();
  job.parallel.pipeline = 1;
  job.parallel.data = hosts;
  job.parallel.zero = 0;
  job.cluster.hosts = hosts;
  job.training.global_batch = 2 * hosts;
  job.communication.overlap = {false, false, false, false};
  return job;
}

EventRun traffic_run(const Job& job, const Fabric& fabric) {
  auto played = run_step(job, stage_layout(job.model, job.parallel), fabric);
  if (const auto* refused = std::get_if<Infeasible>(&played)) FAIL(refused->message);
  return std::get<EventRun>(std::move(played));
}

Seconds path_time(const Job& job) {
  return step_path(uncontended(job), stage_layout(job.model, job.parallel)).timeline.makespan;
}

/// What of the reduction of the gradients moves bytes.
Seconds reduction_wire(const Job& job) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const RankParameters held = rank_parameters(job, layout, 0);
  return gradient_time(job, held) - gradient_time(job, RankParameters{});
}

}  // namespace

TEST_CASE("loads: a ring over whole hosts leaves each over all its NICs", "[sim][traffic]") {
  // 4 hosts x 8 ranks, 1 GB passed on by each: 8 channels, so an eighth per NIC, and over NVLink
  // seven of the eight hops that a channel makes per host.
  const Fabric fabric = one_switch(4);
  LoadBuilder load{fabric, Simulation{}};
  load.ring(gpus(0, 32), 1e9);
  const LinkLoads loads = load.take();
  const Sums nics = sums_of(fabric, loads, LinkKind::nic);
  REQUIRE(nics.links == 32);
  REQUIRE(nics.all == Approx(4e9));
  REQUIRE(nics.most == Approx(1e9 / 8));
  const Sums nvlink = sums_of(fabric, loads, LinkKind::gpu_link);
  REQUIRE(nvlink.links == 32);
  REQUIRE(nvlink.most == Approx(7e9 / 8));
  REQUIRE(load.take().empty());
}

TEST_CASE("loads: a ring with one rank per host stays on its rail", "[sim][traffic]") {
  const Fabric fabric = one_switch(4);
  LoadBuilder load{fabric, Simulation{}};
  load.ring(gpus(3, 4, 8), 1e9);
  const LinkLoads loads = load.take();
  REQUIRE(sums_of(fabric, loads, LinkKind::nic).links == 4);
  REQUIRE(sums_of(fabric, loads, LinkKind::nic).most == Approx(1e9));
  REQUIRE(sums_of(fabric, loads, LinkKind::gpu_link).links == 0);
}

TEST_CASE("loads: in an all-to-all every rank sends and receives the same", "[sim][traffic]") {
  // 16 ranks on 2 hosts: 8 of the 15 parts cross to the other host.
  const Fabric fabric = one_switch(2);
  LoadBuilder load{fabric, Simulation{}};
  load.exchange(gpus(0, 16), 15e9);
  const Sums nics = sums_of(fabric, load.take(), LinkKind::nic);
  REQUIRE(nics.links == 16);
  REQUIRE(nics.all == Approx(16 * 8e9));
  REQUIRE(nics.most == Approx(8e9));
}

TEST_CASE("steps on fabrics: flows that meet on a cable slow a ring by as many as meet",
          "[sim][traffic]") {
  // Leaves of 4 hosts, four times as many NICs as any cable's rate: by hash some cable gets two,
  // three or four flows of the reduction, and the whole ring goes at that cable's pace.
  Job job = data_parallel(32);
  job.cluster.network.kind = FabricKind::fat_tree;
  job.simulation.routing = RoutingKind::ecmp;
  job.simulation.connections = 1;
  const Fabric fabric = fabric_of_radix(job, 64);
  const Seconds wire = reduction_wire(job);
  std::vector<int> seen;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    job.simulation.seed = seed;
    LoadBuilder load{fabric, job.simulation};
    for (int t = 0; t < 8; ++t) load.ring(gpus(t, 32, 8), 1.0);
    double most = 0.0;
    for (const LinkLoad& one : load.take()) most = std::max(most, one.bytes);
    const Seconds longer = traffic_run(job, fabric).timeline.makespan - path_time(job);
    CAPTURE(seed, most);
    REQUIRE(longer / wire == Approx(most - 1.0).epsilon(1e-6));
    seen.push_back(static_cast<int>(most));
  }
  REQUIRE(*std::max_element(seen.begin(), seen.end()) >= 2);
}

TEST_CASE("steps on fabrics: adaptive routes and more connections take flows apart",
          "[sim][traffic]") {
  Job job = data_parallel(32);
  job.cluster.network.kind = FabricKind::fat_tree;
  const Fabric fabric = fabric_of_radix(job, 64);
  Seconds before{1e9};
  for (const int connections : {1, 4, 64}) {
    job.simulation.connections = connections;
    const Seconds now = traffic_run(job, fabric).timeline.makespan;
    REQUIRE(now <= before);
    before = now;
  }
  job.simulation.connections = 1;
  job.simulation.routing = RoutingKind::adaptive;
  REQUIRE(traffic_run(job, fabric).timeline.makespan.value() ==
          Approx(path_time(job).value()).epsilon(1e-9));
}

TEST_CASE("steps on fabrics: oversubscription costs a ring what its crossing edges need, once",
          "[sim][traffic]") {
  // 2:1 below leaves of 5 hosts with 40 NICs and 20 cables up. Packed, one edge per rail leaves a
  // leaf: 8 flows on 20 cables, which adaptive routes keep apart, though the closed form gives all
  // traffic half the rate. Spread, every edge leaves: 40 flows on 20 cables.
  Job job = data_parallel(30);
  job.cluster.network.kind = FabricKind::leaf_spine;
  job.cluster.network.oversubscription = 2.0;
  job.simulation.routing = RoutingKind::adaptive;
  const Fabric fabric = fabric_of_radix(job, 60);
  REQUIRE(fabric.clos.nics_per_leaf == 40);
  REQUIRE(fabric.clos.uplinks_per_leaf == 20);
  const Seconds alone = path_time(job);
  REQUIRE(traffic_run(job, fabric).timeline.makespan.value() ==
          Approx(alone.value()).epsilon(1e-9));
  job.simulation.placement = PlacementKind::spread;
  const Seconds spread = traffic_run(job, fabric).timeline.makespan;
  REQUIRE((spread - alone) / reduction_wire(job) == Approx(1.0).epsilon(1e-6));
}

TEST_CASE("steps on fabrics: links that are left out would have changed nothing",
          "[sim][traffic][property]") {
  Job job = test::llama2_70b_job();
  job.parallel.pipeline = 4;
  job.parallel.data = 8;
  job.parallel.zero = GENERATE(0, 1);
  job.cluster.hosts = 32;
  job.training.global_batch = 8 * 12;
  job.cluster.network.kind = GENERATE(FabricKind::fat_tree, FabricKind::rail_optimized);
  job.simulation.unfold = true;
  job.simulation.seed = GENERATE(1U, 2U, 3U);
  const Fabric fabric = fabric_of_radix(job, 16);
  const Job alone = uncontended(job);
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const TaskGraph graph = step_path(alone, layout).graph;
  const RankMap ranks{job.parallel,
                      std::get<std::vector<int>>(place_ranks(fabric, {job.parallel.gpus()}))};
  const auto play = [&](bool changing) {
    StepTrafficOptions how;
    how.changing = changing;  // keeps all links of the fabric
    StepTraffic traffic{{alone, fabric, ranks}, graph, step_channels(alone, graph), how};
    ReplayOptions options;
    options.replicas = 8;
    return std::pair{replay(graph, traffic.network(), traffic, options),
                     traffic.network().links.size()};
  };
  const auto [compressed, links_left] = play(false);
  const auto [whole, links] = play(true);
  REQUIRE(links_left < links / 2);
  REQUIRE(compressed.slowed == whole.slowed);
  for (int replica = 0; replica < 8; ++replica)
    for (std::size_t id = 0; id < graph.tasks.size(); ++id)
      REQUIRE(compressed.of(replica).end[id].value() ==
              Approx(whole.of(replica).end[id].value()).epsilon(1e-9));
}

TEST_CASE("steps on fabrics: a folded step that met no other replica is a lower bound",
          "[sim][traffic]") {
  Job job = test::llama2_70b_job();
  job.parallel.pipeline = 4;
  job.parallel.data = 8;
  job.cluster.hosts = 32;
  job.training.global_batch = 8 * 12;
  job.simulation.seed = GENERATE(1U, 2U);
  const Fabric fabric = fabric_of_radix(job, 16);
  const Job alone = uncontended(job);
  const TaskGraph graph = step_path(alone, stage_layout(job.model, job.parallel)).graph;
  const RankMap ranks{job.parallel,
                      std::get<std::vector<int>>(place_ranks(fabric, {job.parallel.gpus()}))};
  StepTrafficOptions how;
  how.fold = true;
  StepTraffic traffic{{alone, fabric, ranks}, graph, step_channels(alone, graph), how};
  ReplayOptions options;
  options.replicas = static_cast<int>(traffic.replicas().size());
  const auto play = [&] { return replay(graph, traffic.network(), traffic, options); };
  const Replay met = play();
  const std::vector<double> bytes = traffic.link_bytes();
  traffic.meet_others(false);
  const Replay unmet = play();
  REQUIRE(unmet.timeline.makespan < met.timeline.makespan);
  // All that was there is back, and what has moved counts once.
  traffic.meet_others(true);
  REQUIRE(play().timeline.makespan == met.timeline.makespan);
  REQUIRE(traffic.link_bytes() == bytes);
  job.simulation.unfold = true;
  const Seconds all = traffic_run(job, fabric).timeline.makespan;
  REQUIRE(all >= unmet.timeline.makespan);
  REQUIRE(all <= met.timeline.makespan);
}

TEST_CASE("steps on fabrics: a step played back moves what crossed each link", "[sim][traffic]") {
  Job job = test::llama2_70b_job();
  job.parallel.pipeline = 4;
  job.parallel.data = 4;
  job.cluster.hosts = 16;
  job.training.global_batch = 4 * 12;
  job.simulation.unfold = true;
  const Fabric fabric = fabric_of_radix(job, 16);
  EventOptions options;
  options.frames = 20'000;
  std::vector<double> sums(static_cast<std::size_t>(fabric.links()));
  int frames = 0;
  options.on_frame = [&](const std::vector<double>& use) {
    ++frames;
    for (std::size_t link = 0; link < sums.size(); ++link) sums[link] += use[link];
  };
  const auto played = run_step(job, stage_layout(job.model, job.parallel), fabric, options);
  const EventRun& run = std::get<EventRun>(played);
  REQUIRE(frames == options.frames);
  int links = 0;
  for (std::size_t link = 0; link < sums.size(); ++link) {
    if (fabric.kind[link] != LinkKind::nic || run.link_bytes[link] == 0.0) continue;
    const double moved =
        sums[link] / frames * run.timeline.makespan.value() * fabric.capacity[link];
    REQUIRE(moved == Approx(run.link_bytes[link]).epsilon(0.01));
    ++links;
  }
  REQUIRE(links > 100);
}
