// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "models/forecast/path_forecast.hpp"
#include "models/step/step_time.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "sim/step/event_forecast.hpp"
#include "sim/step/event_run.hpp"
#include "sim/step/internal/step_traffic.hpp"
#include "tests/models/example_job.hpp"
#include "tests/models/random_plans.hpp"
#include "tests/models/step/breakdown_parts.hpp"
#include "tests/sim/job_fabric.hpp"
#include "topologies/fabrics/placement.hpp"

using namespace foretrain;
using foretrain::test::fabric_for;

namespace {

EventRun run_on(const Job& job, const Fabric& fabric, const EventOptions& options = {}) {
  auto played = run_step(job, stage_layout(job.model, job.parallel), fabric, options);
  if (const auto* refused = std::get_if<Infeasible>(&played)) FAIL(refused->message);
  return std::get<EventRun>(std::move(played));
}

Timeline path_of(const Job& job, Detail detail) {
  return step_path(uncontended(job), stage_layout(job.model, job.parallel), detail).timeline;
}

/// A single switch: flows meet at NICs and nowhere else.
Job on_one_switch(Job job) {
  job.cluster.network.kind = FabricKind::single_switch;
  return job;
}

/// The same on trays of four GPUs, of which NVLink joins four; the last domain may be smaller.
Job on_racks(Job job) {
  job.cluster.host.gpus = job.cluster.host.nics = 4;
  job.cluster.host.domain_hosts = job.cluster.segment = 4;
  job.cluster.hosts = (job.parallel.gpus() + 3) / 4;
  return job;
}

Job seventy_billion(int data) {
  Job job = test::llama2_70b_job();
  job.parallel.data = data;
  job.cluster.hosts = job.parallel.gpus() / job.cluster.host.gpus;
  job.training.global_batch = 8 * data * job.training.micro_batch;
  return job;
}

}  // namespace

TEST_CASE("steps on fabrics: an exchange alone takes what the cost model says",
          "[sim][fabric][property]") {
  const bool racks = GENERATE(false, true);
  test::RandomPlans plans{77};
  double worst = 0.0;
  std::size_t exchanges = 0;
  for (int i = 0; i < 150; ++i) {
    const Job drawn = uncontended(on_one_switch(plans.next()));
    const Job job = racks ? on_racks(drawn) : drawn;
    const Fabric fabric = fabric_for(job, 1 << 20);
    const StageLayout layout = stage_layout(job.model, job.parallel);
    const StepPath path = step_path(job, layout, event_detail(job));
    const auto placement = place_ranks(fabric, {job.parallel.gpus()});
    const RankMap ranks{job.parallel, std::get<std::vector<int>>(placement)};
    StepTraffic traffic{{job, fabric, ranks}, path.graph, step_channels(job, path.graph), {}};
    for (std::uint32_t id = 0; id < path.graph.tasks.size() && exchanges < 20'000; ++id) {
      const TaskTraffic use = traffic.of(id);
      if (use.channel == TaskTraffic::none) continue;
      ++exchanges;
      Flow flow = traffic.flows(use.channel, 0).front();
      flow.bytes *= use.amount;
      flow.latency += use.latency;
      Seconds took = flow.latency + flow.bytes / flow.max_rate;
      if (!flow.route.empty()) {
        const auto simulation = make_flow_simulation(traffic.network());
        simulation->start(flow, 0);
        simulation->run([](std::uint64_t) {});
        took = simulation->now();
      }
      worst = std::max(worst, std::abs(took / path.graph.cost_of(id).duration - 1.0));
    }
  }
  INFO("largest difference " << worst << ", " << exchanges << " exchanges");
  REQUIRE(exchanges > 2000);
  REQUIRE(worst < 1e-9);
}

TEST_CASE("steps on fabrics: never faster than the critical path, and that where nothing is slowed",
          "[sim][fabric][property]") {
  const bool racks = GENERATE(false, true);
  test::RandomPlans plans{20261122};
  int alone = 0;
  int slowed = 0;
  for (int i = 0; i < 200; ++i) {
    const Job drawn = on_one_switch(plans.next());
    const Job job = racks ? on_racks(drawn) : drawn;
    CAPTURE(i, racks, job.parallel.gpus());
    const EventRun run = run_on(job, fabric_for(job, 1 << 20));
    const Seconds expected = path_of(job, event_detail(job)).makespan;
    const double longer = run.timeline.makespan / expected - 1.0;
    CAPTURE(longer, run.slowed, run.exchanges);
    REQUIRE(longer > -1e-9);
    if (run.slowed == 0) REQUIRE(std::abs(longer) < 1e-9);
    (run.slowed == 0 ? alone : slowed) += 1;
  }
  CAPTURE(alone, slowed);
  REQUIRE(alone > 20);
  REQUIRE(slowed > 20);
}

TEST_CASE("steps on fabrics: committed scenarios agree with the path where nothing is slowed",
          "[sim][fabric]") {
  for (const auto& file : std::filesystem::directory_iterator{FORETRAIN_SOURCE_DIR "/scenarios"}) {
    if (file.path().extension() != ".yaml") continue;
    const Job job = load_scenario(file.path()).job;
    CAPTURE(file.path().string());
    const EventRun run = run_on(job, fabric_for(job));
    const Seconds expected = path_of(job, event_detail(job)).makespan;
    const double longer = run.timeline.makespan / expected - 1.0;
    CAPTURE(longer, run.slowed, run.exchanges);
    CHECK(longer > -1e-9);
    CHECK(longer < 0.25);  // flows that meet in a fat-tree by ECMP hash
    if (run.slowed == 0) CHECK(std::abs(longer) < 1e-9);
  }
}

TEST_CASE("steps on fabrics: two folded replicas stand for all of a symmetric job",
          "[sim][fabric][property]") {
  const int data = GENERATE(1, 2, 4, 16);
  const bool overlapped = GENERATE(true, false);
  const int pipeline = GENERATE(1, 4, 8);
  Job job = seventy_billion(data);
  job.parallel.pipeline = pipeline;
  job.parallel.virtual_stages = 1;
  job.parallel.zero = GENERATE(0, 1);
  job.communication.overlap.gradients = overlapped;
  job.cluster.hosts = std::max(1, job.parallel.gpus() / job.cluster.host.gpus);
  const Fabric fabric = fabric_for(on_one_switch(job), 1 << 20);
  const EventRun folded = run_on(job, fabric);
  job.simulation.unfold = true;
  const EventRun unfolded = run_on(job, fabric);
  CAPTURE(data, pipeline, job.parallel.gpus(), folded.slowed, unfolded.slowed);
  REQUIRE(unfolded.played == data);
  REQUIRE((folded.played == std::min(data, 2) || folded.slowed > 0));
  REQUIRE(folded.timeline.makespan / unfolded.timeline.makespan == Approx(1.0).epsilon(0.001));
  double difference = 0.0;
  for (std::size_t link = 0; link < folded.link_bytes.size(); ++link)
    difference =
        std::max(difference, std::abs(folded.link_bytes[link] - unfolded.link_bytes[link]));
  REQUIRE(difference <
          1e-6 * *std::max_element(unfolded.link_bytes.begin(), unfolded.link_bytes.end()));
}

TEST_CASE("steps on fabrics: where exchanges meet all replicas are played, packed or scrambled",
          "[sim][fabric]") {
  // Spines with a quarter of what leaves have below: transfers and rings meet there.
  Job job = seventy_billion(16);
  job.cluster.network.kind = FabricKind::leaf_spine;
  job.cluster.network.oversubscription = 4.0;
  const Fabric fabric = fabric_for(job);
  const EventRun packed = run_on(job, fabric);
  REQUIRE(packed.slowed > 0);
  CHECK(packed.played == 16);
  CHECK_FALSE(packed.folded);
  job.simulation.unfold = true;
  CHECK(run_on(job, fabric).timeline.makespan == packed.timeline.makespan);
  job.simulation.unfold = false;
  job.simulation.placement = PlacementKind::scrambled;
  const EventRun scrambled = run_on(job, fabric);
  CHECK(scrambled.played == 16);
  CHECK(packed.timeline.makespan <= scrambled.timeline.makespan);
}

TEST_CASE("steps on fabrics: the breakdown sums to the step", "[sim][fabric]") {
  const Job job = seventy_billion(4);
  const Fabric fabric = fabric_for(job);
  const EventForecast forecast = event_forecast(job, fabric);
  REQUIRE(forecast.prediction.feasible());
  REQUIRE(forecast.prediction.engine == EngineKind::event);
  const StepForecast& step = *forecast.prediction.step;
  REQUIRE(step.breakdown.total() == step.time);
  REQUIRE(step.time.value() == Approx((forecast.run->timeline.makespan *
                                       (1.0 + forecast.run->jitter) * forecast.run->release)
                                          .value())
                                   .epsilon(1e-9));
  REQUIRE(!forecast.prediction.links.empty());
  for (const LinkUse& link : forecast.prediction.links) {
    CHECK(link.utilisation > 0.0);
    CHECK(link.utilisation <= 1.0);
  }
}

TEST_CASE(
    "steps on fabrics: the three engines' breakdowns agree within 1 % of the step where times do",
    "[sim][fabric][breakdown][property]") {
  test::AllPlans plans{20261123};
  int alike = 0;
  for (int i = 0; i < 120; ++i) {
    const Job job = on_one_switch(plans.next());
    CAPTURE(i, test::plan_text(job));
    const StepForecast event = step_forecast(run_on(job, fabric_for(job, 1 << 20)));
    CHECK(event.breakdown.total() == event.time);
    for (const auto& [name, part] : test::breakdown_parts)
      CHECK(event.breakdown.*part >= Seconds{});
    const StageLayout layout = stage_layout(job.model, job.parallel);
    const StepForecast path = step_forecast(step_path(job, layout));
    const StepForecast closed = step_time(job, layout);
    if (std::abs(event.time / path.time - 1.0) > 0.001) continue;
    ++alike;
    for (const StepForecast& other : {path, closed}) {
      const auto [error, part] = test::largest_difference(event, other);
      CAPTURE(part);
      CHECK(error < 0.01);
    }
  }
  CHECK(alike > 40);
}
