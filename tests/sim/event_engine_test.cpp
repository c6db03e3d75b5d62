// SPDX-License-Identifier: Apache-2.0
#include "sim/step/event_engine.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/grid/stage_layout.hpp"
#include "models/step/graph_build.hpp"
#include "models/step/step_exchanges.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/random_plans.hpp"

using namespace foretrain;

namespace {

TaskGraph graph_of(const Job& job) {
  const StepCosts costs = step_costs(job, stage_layout(job.model, job.parallel));
  return build_graph(costs, step_schedule(costs));
}

/// A graph written down task by task.
struct Builder {
  TaskGraph graph;

  explicit Builder(int ranks) {
    graph.ranks = ranks;
    graph.first = {0};
  }
  std::uint32_t add(TaskKind kind, int rank, Seconds duration,
                    const std::vector<std::uint32_t>& before = {}, int peer = -1) {
    Task task;
    task.kind = kind;
    task.stream = kind == TaskKind::compute ? StreamKind::compute : StreamKind::send;
    task.cost = static_cast<std::uint32_t>(graph.costs.size());
    task.rank = rank;
    task.peer = peer;
    TaskCost cost;
    cost.duration = duration;
    graph.costs.push_back(cost);
    graph.tasks.push_back(task);
    graph.predecessors.insert(graph.predecessors.end(), before.begin(), before.end());
    graph.first.push_back(static_cast<std::uint32_t>(graph.predecessors.size()));
    return static_cast<std::uint32_t>(graph.tasks.size() - 1);
  }
};

double worst_difference(const Timeline& a, const Timeline& b) {
  double worst = std::abs((a.makespan - b.makespan).value());
  for (std::size_t id = 0; id < a.end.size(); ++id) {
    worst = std::max(worst, std::abs((a.start[id] - b.start[id]).value()));
    worst = std::max(worst, std::abs((a.end[id] - b.end[id]).value()));
  }
  return worst;
}

/// Transfers and collectives of a graph on four up and four down links that ranks share; what a
/// task takes alone stays its duration.
TrafficMap shared_links(const TaskGraph& graph) {
  TrafficMap traffic;
  traffic.of_task.assign(graph.tasks.size(), TrafficMap::none);
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id) {
    const Task& task = graph.tasks[id];
    if (task.kind != TaskKind::flow && task.kind != TaskKind::collective) continue;
    if (graph.cost_of(id).duration <= Seconds{}) continue;
    Flow flow;
    flow.latency = 5.0 * us;
    flow.bytes = Bytes{std::round(graph.cost_of(id).duration.value() * 50e9)};
    const int peer = task.peer >= 0 ? task.peer : task.rank;
    flow.route = {{static_cast<std::uint32_t>(task.rank % 4)},
                  {static_cast<std::uint32_t>(4 + peer % 4)}};
    traffic.of_task[id] = static_cast<std::uint32_t>(traffic.patterns.size());
    traffic.patterns.push_back({flow});
  }
  return traffic;
}

const FlowNetwork eight_links{std::vector<BytesPerSecond>(8, 50.0 * GBps)};

/// The next random plan whose step has at most so many tasks, and takes seconds: a nanosecond is
/// beyond SimGrid's clock, which goes on from run to run, after hours of simulated time.
TaskGraph small_graph(test::RandomPlans& plans, std::size_t tasks) {
  for (;;) {
    TaskGraph graph = graph_of(plans.next());
    if (graph.tasks.size() <= tasks && longest_path(graph).makespan < Seconds{4.0}) return graph;
  }
}

}  // namespace

TEST_CASE("event engine: where nothing is shared it is the critical path, on 200 random plans",
          "[sim][events][property]") {
  test::RandomPlans plans{20261121};
  double worst = 0.0;
  for (int i = 0; i < 200; ++i) {
    const TaskGraph graph = graph_of(plans.next());
    const Timeline expected = longest_path(graph);
    const Replay played = replay(graph, {}, {});
    REQUIRE(played.events == graph.tasks.size());
    worst =
        std::max(worst, worst_difference(played.timeline, expected) / expected.makespan.value());
  }
  INFO("largest difference " << worst << " of the makespan");
  REQUIRE(worst < 1e-9);
}

TEST_CASE("event engine: with shared links both back-ends agree within 1 ns on 200 random plans",
          "[sim][events][property]") {
  test::RandomPlans plans{5};
  double worst = 0.0;
  int contended = 0;
  for (int i = 0; i < 100; ++i) {
    const TaskGraph graph = small_graph(plans, 400);
    const TrafficMap traffic = shared_links(graph);
    const Replay ours = replay(graph, eight_links, traffic, {FlowBackend::plug_in});
    const Replay theirs = replay(graph, eight_links, traffic, {FlowBackend::simgrid});
    worst = std::max(worst, worst_difference(ours.timeline, theirs.timeline));
    if (ours.timeline.makespan > 1.0001 * longest_path(graph).makespan) ++contended;
  }
  INFO("largest difference " << worst << " s");
  REQUIRE(worst < 1e-9);
  REQUIRE(contended > 20);
}

TEST_CASE("event engine: two transfers on one link share it from when both are there",
          "[sim][events]") {
  // 1 GB each over 50 GB/s, the second 10 ms later: the first has 0.5 GB left then and takes 20 ms
  // more, the second still has 0.5 GB at 30 ms and ends alone at 40 ms.
  Builder builder{2};
  const auto first = builder.add(TaskKind::flow, 0, 20.0 * ms);
  const auto work = builder.add(TaskKind::compute, 1, 10.0 * ms);
  const auto second = builder.add(TaskKind::flow, 1, 20.0 * ms, {work});
  const auto after = builder.add(TaskKind::compute, 0, 5.0 * ms, {first});
  const TrafficMap traffic{{{{{{0}}, 1.0 * GB, Seconds{}}}},
                           {0, TrafficMap::none, 0, TrafficMap::none}};
  const auto backend = GENERATE(FlowBackend::plug_in, FlowBackend::simgrid);
  const Replay played = replay(builder.graph, {{50.0 * GBps}}, traffic, {backend});
  REQUIRE(played.timeline.end[first].value() == Approx(0.030).epsilon(1e-9));
  REQUIRE(played.timeline.end[second].value() == Approx(0.040).epsilon(1e-9));
  REQUIRE(played.timeline.start[after] == played.timeline.end[first]);
  REQUIRE(played.timeline.makespan.value() == Approx(0.040).epsilon(1e-9));
  REQUIRE(played.links[0].bytes.value() == 2e9);
  REQUIRE(played.links[0].busy.value() == Approx(0.040).epsilon(1e-9));
}

TEST_CASE("event engine: a collective taken apart ends with its last flow", "[sim][events]") {
  Builder builder{1};
  const auto gather = builder.add(TaskKind::collective, 0, Seconds{});
  const TrafficMap traffic{
      {{{{{0}}, 1.0 * GB, Seconds{}}, {{{1}}, 1.0 * GB, Seconds{}}, {{{1}}, 2.0 * GB, Seconds{}}}},
      {0}};
  const Replay played = replay(builder.graph, {{50.0 * GBps, 50.0 * GBps}}, traffic);
  REQUIRE(played.timeline.end[gather].value() == Approx(0.060).epsilon(1e-12));
  REQUIRE(played.links[0].busy.value() == Approx(0.020).epsilon(1e-12));
  REQUIRE(played.events == 3);
}

TEST_CASE("event engine: a coupled collective goes at the pace of its slowest link",
          "[sim][events]") {
  // 1 GB over a 100 GB/s link of which a quarter also crosses 10 GB/s: 25 ms of the second link
  // decide. With a transfer of 0.25 GB there, both get 5 GB/s of it and end together at 50 ms.
  Builder builder{2};
  const auto reduce = builder.add(TaskKind::collective, 0, Seconds{});
  const auto other = builder.add(TaskKind::flow, 1, Seconds{});
  const std::vector<Flow> coupled{{{{0, 1.0}, {1, 0.25}}, 1.0 * GB, Seconds{}}};
  const FlowNetwork network{{100.0 * GBps, 10.0 * GBps}};
  const Replay alone = replay(builder.graph, network, {{coupled}, {0, TrafficMap::none}});
  REQUIRE(alone.timeline.end[reduce].value() == Approx(0.025).epsilon(1e-12));
  // Fairness compares rates of whole flows: at equal weights the coupled one, only a quarter of
  // whose bytes cross this link, would have a quarter of the plain one's part of it.
  Flow plain{{{1}}, 0.25 * GB, Seconds{}, 0.25};
  const Replay both = replay(builder.graph, network, {{coupled, {plain}}, {0, 1}});
  REQUIRE(both.timeline.end[reduce].value() == Approx(0.050).epsilon(1e-12));
  REQUIRE(both.timeline.end[other].value() == Approx(0.050).epsilon(1e-12));
  REQUIRE(both.links[1].bytes.value() == 0.5e9);
}

TEST_CASE("event engine: the same replay gives the same bytes", "[sim][events]") {
  test::RandomPlans plans{3};
  const TaskGraph graph = small_graph(plans, 4000);
  const TrafficMap traffic = shared_links(graph);
  const Replay first = replay(graph, eight_links, traffic, {FlowBackend::plug_in});
  const Replay again = replay(graph, eight_links, traffic, {FlowBackend::plug_in});
  REQUIRE(first.timeline.start == again.timeline.start);
  REQUIRE(first.timeline.end == again.timeline.end);
  REQUIRE(first.events == again.events);
}

TEST_CASE("event engine: maps and options that make no sense are refused", "[sim][events]") {
  Builder builder{1};
  builder.add(TaskKind::flow, 0, 1.0 * ms);
  const TrafficMap empty_pattern{{{}}, {0}};
  const TrafficMap unknown_pattern{{}, {3}};
  const TrafficMap too_short{{{{{{0}}, 1.0 * GB, Seconds{}}}}, {0, 0}};
  const FlowNetwork network{{1.0 * GBps}};
  REQUIRE_THROWS_AS(replay(builder.graph, network, empty_pattern), std::logic_error);
  REQUIRE_THROWS_AS(replay(builder.graph, network, unknown_pattern), std::logic_error);
  REQUIRE_THROWS_AS(replay(builder.graph, network, too_short), std::logic_error);
  REQUIRE_THROWS_AS(replay(builder.graph, network, {}, {FlowBackend::plug_in, 0}),
                    std::logic_error);
}
