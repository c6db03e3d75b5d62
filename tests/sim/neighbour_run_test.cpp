// SPDX-License-Identifier: Apache-2.0
#include "sim/step/neighbour_run.hpp"

#include <catch2/catch.hpp>

#include <string>

#include "models/data/data_parallel.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

/// One ring per rail over whole hosts, gradients alone at the end of the step.
Job data_parallel(int hosts) {
  Job job = test::llama2_70b_job();
  job.parallel.pipeline = 1;
  job.parallel.data = hosts;
  job.parallel.zero = 0;
  job.cluster.hosts = hosts;
  job.training.global_batch = 2 * hosts;
  job.communication.overlap = {false, false, false, false};
  job.simulation.routing = RoutingKind::adaptive;
  return job;
}

/// Leaves of 5 hosts with 40 NICs, and 40 or 20 cables up.
Fabric leaf_spine(const Job& job, int hosts, double oversubscription) {
  Cluster cluster = job.cluster;
  cluster.hosts = hosts;
  cluster.network.kind = FabricKind::leaf_spine;
  cluster.network.oversubscription = oversubscription;
  cluster.network.switch_radix = oversubscription > 1.0 ? 60 : 80;
  FabricSpec spec = fabric_spec(cluster);
  spec.host.pcie = 1.0 * TBps;
  auto built = build_fabric(spec);
  if (const auto* refused = std::get_if<Infeasible>(&built)) FAIL(refused->message);
  return std::get<Fabric>(std::move(built));
}

NeighbourRun beside(const Job& job, const Job& other, const Fabric& fabric) {
  auto played = run_neighbours({&job, &other}, fabric);
  if (const auto* refused = std::get_if<Infeasible>(&played)) FAIL(refused->message);
  return std::get<NeighbourRun>(std::move(played));
}

std::string refusal(const Job& job, const Job& other, const Fabric& fabric) {
  const auto played = run_neighbours({&job, &other}, fabric);
  const auto* refused = std::get_if<Infeasible>(&played);
  return refused == nullptr ? "" : refused->message;
}

}  // namespace

TEST_CASE("neighbours: jobs that share no link do not slow each other", "[sim][neighbour]") {
  const Job job = data_parallel(5);  // a leaf each
  const NeighbourRun run = beside(job, job, leaf_spine(job, 10, 2.0));
  REQUIRE(run.shared_cables == 0);
  REQUIRE(run.jobs[0].steps.size() == 32);
  for (const BesideSteps& one : run.jobs) {
    REQUIRE_FALSE(one.steps.empty());
    REQUIRE(one.slowdown(0.0) == Approx(1.0).epsilon(1e-9));
    REQUIRE(one.slowdown(1.0) == Approx(1.0).epsilon(1e-9));
  }
}

TEST_CASE("neighbours: a reduction that always meets the other's takes up to twice as long",
          "[sim][neighbour]") {
  // Both spread over six leaves at 2:1, so that either fills the cables up by itself. While both
  // reduce they have half each: a step is longer by what it meets of the other, at most by its own
  // reduction, and the fastest meet nothing.
  Job job = data_parallel(12);
  job.simulation.placement = PlacementKind::spread;
  const Fabric fabric = leaf_spine(job, 30, 2.0);
  const NeighbourRun run = beside(job, job, fabric);
  REQUIRE(run.shared_cables > 0);
  REQUIRE_FALSE(run.busiest.empty());
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const double reduction = gradient_time(job, rank_parameters(job, layout, 0)) / run.jobs[0].alone;
  for (const BesideSteps& one : run.jobs) {
    CAPTURE(reduction, one.slowdown(0.0), one.slowdown(1.0));
    REQUIRE(one.slowdown(0.0) >= 1.0 - 1e-9);
    REQUIRE(one.slowdown(1.0) > 1.0 + 0.1 * reduction);
    REQUIRE(one.mean_slowdown() > 1.0);
    REQUIRE(one.mean_slowdown() <= one.slowdown(1.0));
  }
  REQUIRE(run.jobs[0].alone == run.jobs[1].alone);
}

TEST_CASE("neighbours: the same again gives the same again", "[sim][neighbour]") {
  Job job = data_parallel(12);
  job.simulation.placement = PlacementKind::scrambled;
  Job other = data_parallel(10);
  other.training.global_batch = 60;
  const Fabric fabric = leaf_spine(job, 30, 2.0);
  const NeighbourRun once = beside(job, other, fabric);
  const NeighbourRun again = beside(job, other, fabric);
  for (std::size_t i = 0; i < 2; ++i) REQUIRE(once.jobs[i].steps == again.jobs[i].steps);
}

TEST_CASE("neighbours: what cannot be played is refused by name", "[sim][neighbour]") {
  const Job job = data_parallel(5);
  const Fabric small = leaf_spine(job, 9, 1.0);
  REQUIRE_THAT(refusal(job, job, small), Catch::Contains("cluster.fabric.hosts"));
  const Fabric fabric = leaf_spine(job, 10, 1.0);
  Job disturbed = job;
  Disturbance slow;
  slow.kind = DisturbanceKind::straggler;
  slow.target = "host0";
  slow.factor = 0.5;
  disturbed.simulation.disturbances = {slow};
  REQUIRE_THAT(refusal(job, disturbed, fabric), Catch::Contains("disturbances"));
  Job elsewhere = job;
  elsewhere.cluster.host.name = "another";
  REQUIRE_THAT(refusal(job, elsewhere, fabric), Catch::Contains("the same host"));
}

TEST_CASE("neighbours: it stops when asked to", "[sim][neighbour]") {
  const Job job = data_parallel(5);
  NeighbourOptions options;
  options.on_progress = [](const ReplayProgress&) { return false; };
  const auto played = run_neighbours({&job, &job}, leaf_spine(job, 10, 1.0), options);
  REQUIRE(std::get<NeighbourRun>(played).stopped);
}
