// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "models/data/data_parallel.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/layers/parameters.hpp"
#include "sim/step/event_run.hpp"
#include "tests/models/example_job.hpp"
#include "tests/sim/job_fabric.hpp"

using namespace foretrain;
using foretrain::test::fabric_for;

namespace {

/// 8 hosts, tensor 8, data 8: a ring per rail over all hosts, gradients after the last pass.
Job eight_hosts() {
  Job job = test::llama2_70b_job();
  job.parallel.pipeline = 1;
  job.parallel.data = 8;
  job.cluster.hosts = 8;
  job.training.global_batch = 128;
  job.parallel.zero = 0;
  job.communication.overlap = {false, false, false, false};
  job.simulation.unfold = true;
  return job;
}

std::variant<EventRun, Infeasible> try_on(const Job& job, const Fabric& fabric) {
  return run_step(job, stage_layout(job.model, job.parallel), fabric);
}

EventRun run_on(const Job& job, const Fabric& fabric) {
  auto played = try_on(job, fabric);
  if (const auto* refused = std::get_if<Infeasible>(&played)) FAIL(refused->message);
  return std::get<EventRun>(std::move(played));
}

EventRun disturbed(Job job, std::vector<Disturbance> disturbances) {
  job.simulation.disturbances = std::move(disturbances);
  return run_on(job, fabric_for(job));
}

Disturbance of_kind(DisturbanceKind kind, std::string target) {
  Disturbance what;
  what.kind = kind;
  what.target = std::move(target);
  return what;
}

/// What the reduction of the gradients takes, and its part that moves bytes.
struct Reduction {
  Seconds all;
  Seconds wire;
};

Reduction reduction_of(const Job& job) {
  const RankParameters held = rank_parameters(job, stage_layout(job.model, job.parallel), 0);
  const Seconds all = gradient_time(job, held);
  return {all, all - gradient_time(job, RankParameters{})};
}

std::size_t link_id(const Fabric& fabric, const std::string& name) {
  for (LinkId link = 0; link < fabric.links(); ++link)
    if (link_name(fabric, link) == name) return static_cast<std::size_t>(link);
  FAIL("no link " << name);
  return 0;
}

}  // namespace

TEST_CASE("disturbances: one straggler at 0.8 slows the whole job to its pace",
          "[sim][disturbances]") {
  const Job job = eight_hosts();
  Disturbance slow = of_kind(DisturbanceKind::straggler, "3");
  slow.factor = 0.8;
  std::vector<Disturbance> everywhere;
  for (int host = 0; host < 8; ++host) {
    everywhere.push_back(slow);
    everywhere.back().target = std::to_string(host);
  }
  const EventRun healthy = disturbed(job, {});
  const EventRun one = disturbed(job, {slow});
  const EventRun all = disturbed(job, everywhere);
  REQUIRE(one.replica == 3);
  const StepForecast before = step_forecast(healthy);
  const double compute =
      (before.breakdown.compute + before.breakdown.recompute) / before.breakdown.total();
  REQUIRE(compute > 0.5);
  REQUIRE(one.timeline.makespan / healthy.timeline.makespan > 1.0 + 0.24 * compute);
  REQUIRE(one.timeline.makespan / healthy.timeline.makespan < 1.26);
  // The optimizer of the other hosts runs on at its own pace: nobody waits for it.
  REQUIRE(one.timeline.makespan / all.timeline.makespan == Approx(1.0).epsilon(1e-9));
}

TEST_CASE("disturbances: a straggler's jitter is drawn by the seed", "[sim][disturbances]") {
  Job job = eight_hosts();
  Disturbance slow = of_kind(DisturbanceKind::straggler, "host5");
  slow.jitter = 0.1;
  const EventRun first = disturbed(job, {slow});
  const EventRun again = disturbed(job, {slow});
  job.simulation.seed = 2;
  const EventRun other = disturbed(job, {slow});
  REQUIRE(first.timeline.end == again.timeline.end);
  REQUIRE(first.link_bytes == again.link_bytes);
  REQUIRE(first.timeline.makespan != other.timeline.makespan);
  REQUIRE(first.timeline.makespan > disturbed(job, {}).timeline.makespan);
}

TEST_CASE("disturbances: a dead NIC moves its rail to the neighbour's, which carries both",
          "[sim][disturbances]") {
  const Job job = eight_hosts();
  const Fabric fabric = fabric_for(job);
  const EventRun healthy = disturbed(job, {});
  const EventRun hurt = disturbed(job, {of_kind(DisturbanceKind::node_down, "nic3.2")});
  const std::size_t dead = link_id(fabric, "nic3.2>leaf0");
  const std::size_t next = link_id(fabric, "nic3.3>leaf0");
  REQUIRE(healthy.link_bytes[dead] > 0.0);
  REQUIRE(hurt.link_bytes[dead] == 0.0);
  REQUIRE(hurt.link_bytes[next] / healthy.link_bytes[next] == Approx(2.0).epsilon(1e-9));
  // One ring of the eight goes at half its pace, and the collective ends with it.
  const Reduction reduction = reduction_of(job);
  const Seconds longer = hurt.timeline.makespan - healthy.timeline.makespan;
  REQUIRE(longer / reduction.wire == Approx(1.0).epsilon(0.02));
}

TEST_CASE("disturbances: flows under way on a lost cable take what they have left elsewhere",
          "[sim][disturbances]") {
  const Job job = eight_hosts();
  const EventRun healthy = disturbed(job, {});
  const Reduction reduction = reduction_of(job);
  Disturbance lost = of_kind(DisturbanceKind::link_down, "nic3.2-leaf0");
  // Lost when a quarter of the bytes is still to come: that quarter takes twice as long.
  Seconds begin;
  for (std::uint32_t id = 0; id < healthy.graph.tasks.size(); ++id)
    if (healthy.graph.tasks[id].role == TaskRole::gradients) begin = healthy.timeline.start[id];
  lost.from = begin + (reduction.all - reduction.wire) + 0.75 * reduction.wire;
  const EventRun late = disturbed(job, {lost});
  REQUIRE((late.timeline.makespan - healthy.timeline.makespan) / reduction.wire ==
          Approx(0.25).epsilon(0.02));
  // Back before anybody needed it: nothing has happened.
  lost.from = Seconds{};
  lost.lasts = 0.5 * begin;
  const EventRun early = disturbed(job, {lost});
  REQUIRE(early.timeline.makespan.value() ==
          Approx(healthy.timeline.makespan.value()).epsilon(1e-12));
}

TEST_CASE("disturbances: a cable at half its rate takes twice as long", "[sim][disturbances]") {
  const Job job = eight_hosts();
  Disturbance slow = of_kind(DisturbanceKind::link_degraded, "nic0.0-leaf0");
  slow.factor = 0.5;
  const Seconds longer =
      disturbed(job, {slow}).timeline.makespan - disturbed(job, {}).timeline.makespan;
  REQUIRE(longer / reduction_of(job).wire == Approx(1.0).epsilon(0.02));
}

TEST_CASE("disturbances: a NIC that flaps costs more the longer it is down",
          "[sim][disturbances]") {
  const Job job = eight_hosts();
  Seconds before = disturbed(job, {}).timeline.makespan;
  for (const double share : {0.2, 0.5, 0.9}) {
    Disturbance flap = of_kind(DisturbanceKind::nic_flap, "nic1.1");
    flap.period = 20.0 * ms;
    flap.lasts = share * flap.period;
    const Seconds now = disturbed(job, {flap}).timeline.makespan;
    REQUIRE(now > before);
    before = now;
  }
  REQUIRE(before <=
          disturbed(job, {of_kind(DisturbanceKind::node_down, "nic1.1")}).timeline.makespan);
}

TEST_CASE("disturbances: another job's traffic takes its fair part of the NICs",
          "[sim][disturbances]") {
  const Job job = eight_hosts();
  Disturbance other = of_kind(DisturbanceKind::background, "2");
  other.to = "6";
  const Seconds alone = disturbed(job, {}).timeline.makespan;
  const Reduction reduction = reduction_of(job);
  // A tenth of what the NICs give leaves the ring nine tenths of its rate; more than half of it is
  // cut to a fair half.
  const BytesPerSecond nics = 8.0 * 0.98 * job.cluster.network.nic_link.bandwidth;
  other.rate = 0.1 * nics;
  REQUIRE((disturbed(job, {other}).timeline.makespan - alone) / reduction.wire ==
          Approx(1.0 / 0.9 - 1.0).epsilon(0.02));
  other.rate = 0.9 * nics;
  REQUIRE((disturbed(job, {other}).timeline.makespan - alone) / reduction.wire ==
          Approx(1.0).epsilon(0.02));
  // Gone before the gradients leave.
  other.lasts = 1.0 * ms;
  REQUIRE(disturbed(job, {other}).timeline.makespan.value() ==
          Approx(alone.value()).epsilon(1e-12));
}

TEST_CASE("disturbances: another job's load of one cable leaves the rest of it",
          "[sim][disturbances]") {
  const Job job = eight_hosts();
  Disturbance load = of_kind(DisturbanceKind::background, "nic0.0-leaf0");
  const Seconds alone = disturbed(job, {}).timeline.makespan;
  load.rate = 0.2 * 0.98 * job.cluster.network.nic_link.bandwidth;
  REQUIRE((disturbed(job, {load}).timeline.makespan - alone) / reduction_of(job).wire ==
          Approx(0.25).epsilon(0.02));
  load.lasts = 1.0 * ms;  // gone before the gradients leave
  REQUIRE(disturbed(job, {load}).timeline.makespan.value() == Approx(alone.value()).epsilon(1e-12));
}

TEST_CASE("disturbances: a checkpoint over the NICs takes its part of them until it is written",
          "[sim][disturbances]") {
  Job job = eight_hosts();
  job.cluster.network.connected = 16;  // eight hosts that store
  job.operations.storage.network = StorageNetwork::compute;
  job.operations.checkpoint.size = 1000.0 * TB;
  Disturbance drain = of_kind(DisturbanceKind::checkpoint, "8");
  drain.to = "15";
  const Seconds alone = disturbed(job, {}).timeline.makespan;
  // Without ZeRO one replica writes, host 0: a fifth of its NICs leaves four fifths of the ring's
  // rate.
  drain.rate = 0.2 * 8.0 * 0.98 * job.cluster.network.nic_link.bandwidth;
  REQUIRE((disturbed(job, {drain}).timeline.makespan - alone) / reduction_of(job).wire ==
          Approx(0.25).epsilon(0.02));
  // The storage gives the same rate where the disturbance has none.
  const Seconds slowed = disturbed(job, {drain}).timeline.makespan;
  job.operations.storage.write = drain.rate;
  drain.rate = {};
  REQUIRE(disturbed(job, {drain}).timeline.makespan.value() ==
          Approx(slowed.value()).epsilon(1e-9));
  // Written before the gradients leave.
  job.operations.checkpoint.size = 1.0 * GB;
  REQUIRE(disturbed(job, {drain}).timeline.makespan.value() == Approx(alone.value()).epsilon(1e-9));
}

TEST_CASE("disturbances: input over the NICs takes its part of them, and may come too late",
          "[sim][disturbances]") {
  Job job = eight_hosts();
  job.cluster.network.connected = 16;  // eight hosts that store
  job.operations.storage.network = StorageNetwork::compute;
  const Seconds alone = disturbed(job, {}).timeline.makespan;
  Disturbance input = of_kind(DisturbanceKind::input, "8");
  input.to = "15";
  // All eight hosts read at a fifth of their NICs, which leaves four fifths to the ring.
  input.rate = 8.0 * 0.2 * 8.0 * 0.98 * job.cluster.network.nic_link.bandwidth;
  job.operations.loading.bytes_per_token = 1e9;
  const Seconds slowed = disturbed(job, {input}).timeline.makespan;
  REQUIRE((slowed - alone) / reduction_of(job).wire == Approx(0.25).epsilon(0.02));
  // Twice what the step has time for.
  const double tokens = 128.0 * job.training.sequence;
  job.operations.loading.bytes_per_token = (2.0 * input.rate * slowed).value() / tokens;
  const EventRun half = disturbed(job, {input});
  REQUIRE(half.timeline.makespan.value() == Approx(slowed.value()).epsilon(1e-9));
  REQUIRE(half.input_left == Approx(0.5).epsilon(1e-6));
  // The storage gives the same rate where the disturbance has none.
  job.operations.storage.read = input.rate;
  input.rate = {};
  REQUIRE(disturbed(job, {input}).input_left == Approx(0.5).epsilon(1e-6));
  // Read before the gradients leave.
  job.operations.loading.bytes_per_token = 4.0;
  const EventRun early = disturbed(job, {input});
  REQUIRE(early.timeline.makespan.value() == Approx(alone.value()).epsilon(1e-9));
  REQUIRE(early.input_left == 0.0);
}

TEST_CASE("disturbances: input is refused where nobody says how much and how fast",
          "[sim][disturbances]") {
  Job job = eight_hosts();
  job.cluster.network.connected = 9;
  job.simulation.disturbances = {of_kind(DisturbanceKind::input, "8")};
  const auto key = [&] {
    const auto played = try_on(job, fabric_for(job));
    REQUIRE(std::holds_alternative<Infeasible>(played));
    return std::get<Infeasible>(played).key;
  };
  REQUIRE(key() == "operations.storage.network");
  job.operations.storage.network = StorageNetwork::compute;
  REQUIRE(key() == "operations.data_loading.bytes_per_token");
  job.operations.loading.bytes_per_token = 4.0;
  REQUIRE(key() == "operations.storage.read");
}

TEST_CASE("disturbances: traffic of a lost cable waits until switches have new routes",
          "[sim][disturbances]") {
  Job job = eight_hosts();
  const EventRun healthy = disturbed(job, {});
  const Reduction reduction = reduction_of(job);
  Disturbance lost = of_kind(DisturbanceKind::link_down, "nic3.2-leaf0");
  Seconds begin;
  for (std::uint32_t id = 0; id < healthy.graph.tasks.size(); ++id)
    if (healthy.graph.tasks[id].role == TaskRole::gradients) begin = healthy.timeline.start[id];
  lost.from = begin + (reduction.all - reduction.wire) + 0.75 * reduction.wire;
  const auto longer = [&] {
    return (disturbed(job, {lost}).timeline.makespan - healthy.timeline.makespan) / reduction.wire;
  };
  // Half the time of the wire nothing moves, then the last quarter of the bytes takes twice as
  // long.
  job.simulation.rerouting = 0.5 * reduction.wire;
  REQUIRE(longer() == Approx(0.5 + 0.25).epsilon(0.02));
  // Back before that: the ring goes on where it stood, on its own cable.
  lost.lasts = 0.3 * reduction.wire;
  REQUIRE(longer() == Approx(0.3).epsilon(0.02));
  // Lost before the step began: switches knew.
  lost.from = lost.lasts = Seconds{};
  const Seconds knew = disturbed(job, {lost}).timeline.makespan;
  job.simulation.rerouting.reset();
  REQUIRE(knew.value() == Approx(disturbed(job, {lost}).timeline.makespan.value()).epsilon(1e-9));
}

TEST_CASE("disturbances: a checkpoint meets nothing on a storage network of its own",
          "[sim][disturbances]") {
  Job job = eight_hosts();
  job.cluster.network.connected = 9;
  job.simulation.disturbances = {of_kind(DisturbanceKind::checkpoint, "8")};
  const auto own = try_on(job, fabric_for(job));
  REQUIRE(std::holds_alternative<Infeasible>(own));
  REQUIRE(std::get<Infeasible>(own).key == "operations.storage.network");
  job.operations.storage.network = StorageNetwork::compute;
  const auto unknown = try_on(job, fabric_for(job));
  REQUIRE(std::holds_alternative<Infeasible>(unknown));
  REQUIRE(std::get<Infeasible>(unknown).key == "operations.storage.write");
}

TEST_CASE("disturbances: what names nothing or cuts ranks off is a reason, not a result",
          "[sim][disturbances]") {
  Job job = eight_hosts();
  const Fabric fabric = fabric_for(job);
  const auto reason = [&](const Disturbance& what) {
    Job hurt = job;
    hurt.simulation.disturbances = {what};
    const auto played = try_on(hurt, fabric);
    REQUIRE(std::holds_alternative<Infeasible>(played));
    return std::get<Infeasible>(played).message;
  };
  REQUIRE_THAT(reason(of_kind(DisturbanceKind::link_down, "leaf7-spine9")),
               Catch::Contains("leaf7"));
  REQUIRE_THAT(reason(of_kind(DisturbanceKind::straggler, "8")), Catch::Contains("no host '8'"));
  REQUIRE_THAT(reason(of_kind(DisturbanceKind::background, "1")), Catch::Contains("rate"));
  Disturbance nowhere = of_kind(DisturbanceKind::background, "leaf7-spine9");
  nowhere.rate = 1.0 * GBps;
  REQUIRE_THAT(reason(nowhere), Catch::Contains("leaf7"));
  REQUIRE_THAT(reason(of_kind(DisturbanceKind::nic_flap, "nic0.0")), Catch::Contains("period"));
  REQUIRE_THAT(reason(of_kind(DisturbanceKind::node_down, "leaf0")),
               Catch::Contains("no way is left"));
}
