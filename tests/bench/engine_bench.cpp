// SPDX-License-Identifier: Apache-2.0
// Speed of the event engine: flows, ring all-reduces, replays. usage: foretrain_bench_engine
#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "models/grid/stage_layout.hpp"
#include "models/step/graph_build.hpp"
#include "models/step/step_exchanges.hpp"
#include "models/step/step_time.hpp"
#include "sim/step/event_engine.hpp"
#include "tests/bench/bench_clock.hpp"
#include "tests/models/example_job.hpp"
#include "tests/sim/random_traffic.hpp"

namespace {

using namespace foretrain;
using bench::measure;

/// Every rank sends over its own link up and receives over its link down, 50 GB/s each.
FlowNetwork star(std::uint32_t ranks) {
  return {std::vector<BytesPerSecond>(std::size_t{2} * ranks, 50.0 * GBps)};
}

/// What crosses a rank's links in a ring all-reduce of 1 GB.
Bytes ring_bytes(std::uint32_t ranks) { return 2.0 * (ranks - 1) / ranks * GB; }

/// Every chunk of every step is a flow: 2(n-1) steps of n flows. A rank sends its next chunk once
/// its last one is out and the one from its neighbour is in.
class ChunkedRing {
 public:
  ChunkedRing(std::uint32_t ranks, FlowBackend backend)
      : ranks_{ranks},
        simulation_{make_flow_simulation(star(ranks), backend)},
        waits_(std::size_t{2} * ranks * ranks, 2) {}

  Seconds run() {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) send(rank, 0);
    simulation_->run([this](std::uint64_t tag) { sent(tag); });
    return simulation_->now();
  }
  [[nodiscard]] double flows() const { return 1.0 * ranks_ * steps(); }

 private:
  [[nodiscard]] std::uint32_t steps() const { return 2 * (ranks_ - 1); }
  void send(std::uint32_t rank, std::uint32_t step) {
    flow_.route = {{2 * rank}, {2 * ((rank + 1) % ranks_) + 1}};
    flow_.bytes = ring_bytes(ranks_) / steps();
    simulation_->start(flow_, std::uint64_t{step} * ranks_ + rank);
  }
  void sent(std::uint64_t tag) {
    const auto rank = static_cast<std::uint32_t>(tag % ranks_);
    const auto step = static_cast<std::uint32_t>(tag / ranks_) + 1;
    if (step == steps()) return;
    for (const std::uint32_t next : {rank, (rank + 1) % ranks_})
      if (--waits_[std::size_t{step} * ranks_ + next] == 0) send(next, step);
  }

  std::uint32_t ranks_;
  std::unique_ptr<FlowSimulation> simulation_;
  Flow flow_;
  std::vector<std::uint8_t> waits_;
};

/// One flow per rank with all that it sends to its neighbour; where all steps are alike this takes
/// as long as chunk by chunk.
double ring_of_flows(std::uint32_t ranks, FlowBackend backend) {
  const auto simulation = make_flow_simulation(star(ranks), backend);
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    simulation->start({{{2 * rank}, {2 * ((rank + 1) % ranks) + 1}}, ring_bytes(ranks), Seconds{}},
                      rank);
  simulation->run([](std::uint64_t) {});
  return simulation->now().value();
}

/// The whole ring as one coupled flow over the links of all ranks.
double coupled_ring(std::uint32_t ranks) {
  const auto simulation = make_flow_simulation(star(ranks));
  Flow flow;
  flow.bytes = ring_bytes(ranks);
  for (std::uint32_t link = 0; link < 2 * ranks; ++link) flow.route.push_back({link});
  simulation->start(flow, 0);
  simulation->run([](std::uint64_t) {});
  return simulation->now().value();
}

void measure_rings() {
  ChunkedRing sample{64, FlowBackend::plug_in};
  fmt::print(
      "ring all-reduce of 1 GB over 64 ranks: {:.6f} s chunk by chunk ({} flows), {:.6f} s "
      "as 64 flows, {:.6f} s as one\n",
      sample.run().value(), sample.flows(), ring_of_flows(64, FlowBackend::plug_in),
      coupled_ring(64));
  const double chunked = measure("64 ranks, every chunk a flow", [] {
    return ChunkedRing{64, FlowBackend::plug_in}.run().value();
  });
  fmt::print("{:<42} {:>10.2f} M flows per second\n", "", sample.flows() / chunked * 1e-6);
  measure("64 ranks, every chunk a flow, SimGrid", [] {
    return ChunkedRing{64, FlowBackend::simgrid}.run().value();
  });
  ChunkedRing large{512, FlowBackend::plug_in};
  const double seconds = bench::seconds_for([&] { return large.run().value(); }, 1);
  fmt::print("{:<42} {:>10.2f} s, once {:>9.2f} M flows per second\n",
             "512 ranks, every chunk a flow", seconds, large.flows() / seconds * 1e-6);
  for (const std::uint32_t ranks : {64U, 4096U, 16384U}) {
    measure(fmt::format("{} ranks, a flow per rank", ranks).c_str(),
            [&] { return ring_of_flows(ranks, FlowBackend::plug_in); });
    measure(fmt::format("{} ranks, one coupled flow", ranks).c_str(),
            [&] { return coupled_ring(ranks); });
  }
}

double random_traffic(const test::TestFabric& fabric, const std::vector<test::TimedFlow>& flows,
                      FlowBackend backend) {
  const auto simulation = make_flow_simulation(fabric.network(), backend);
  for (std::uint64_t id = 0; id < flows.size(); ++id) simulation->at(flows[id].start, id);
  simulation->run([&](std::uint64_t tag) {
    if (tag < flows.size()) simulation->start(flows[tag].flow, flows.size());
  });
  return simulation->now().value();
}

void measure_random() {
  const test::TestFabric fabric{test::TestFabric::Kind::leaf_spine};
  const auto flows = test::random_flows(fabric, 3000, 1);
  for (const FlowBackend backend : {FlowBackend::plug_in, FlowBackend::simgrid})
    measure(fmt::format("3000 random flows, leaf-spine, {}", name_of(backend)).c_str(),
            [&] { return random_traffic(fabric, flows, backend); });
}

/// 16 stages with 64 micro-batches, nothing shared: what the engine costs against a longest path.
void measure_replay() {
  Job job = test::llama2_70b_job();
  job.parallel.pipeline = 16;
  job.training.global_batch = 64 * job.training.micro_batch * job.parallel.data;
  const StepCosts costs = step_costs(job, stage_layout(job.model, job.parallel));
  const TaskGraph graph = build_graph(costs, step_schedule(costs));
  fmt::print("step of 16 stages and 64 micro-batches: {} tasks\n", graph.tasks.size());
  measure("critical path", [&] { return longest_path(graph).makespan.value(); });
  measure("replay, nothing shared",
          [&] { return replay(graph, {}, {}).timeline.makespan.value(); });
}

}  // namespace

int main() {
  try {
    measure_rings();
    measure_random();
    measure_replay();
  } catch (const std::exception& error) {
    fmt::print(stderr, "foretrain_bench_engine: {}\n", error.what());
    return 2;
  }
  return 0;
}
