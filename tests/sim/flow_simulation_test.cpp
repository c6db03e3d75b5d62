// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/flow_network.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tests/sim/random_traffic.hpp"

using namespace foretrain;

namespace {

FlowNetwork one_link(BytesPerSecond capacity) { return {{capacity}}; }

/// When each flow ended.
std::vector<double> run_flows(FlowSimulation& simulation,
                              const std::vector<test::TimedFlow>& flows) {
  std::vector<double> ends(flows.size());
  const std::uint64_t count = flows.size();
  for (std::uint64_t id = 0; id < count; ++id) simulation.at(flows[id].start, count + id);
  simulation.run([&](std::uint64_t tag) {
    if (tag >= count)
      simulation.start(flows[tag - count].flow, tag - count);
    else
      ends[tag] = simulation.now().value();
  });
  return ends;
}

std::vector<double> ends_of(const test::TestFabric& fabric,
                            const std::vector<test::TimedFlow>& flows, FlowBackend backend) {
  const auto simulation = make_flow_simulation(fabric.network(), backend);
  return run_flows(*simulation, flows);
}

}  // namespace

TEST_CASE("flows: 1 GB over 50 GB/s takes 20 ms after its latency", "[sim][flows]") {
  const auto backend = GENERATE(FlowBackend::plug_in, FlowBackend::simgrid);
  const auto simulation = make_flow_simulation(one_link(50.0 * GBps), backend);
  const std::vector<test::TimedFlow> flows{{Seconds{}, {{{0}}, 1.0 * GB, 50.0 * us}}};
  REQUIRE(run_flows(*simulation, flows)[0] == Approx(0.02005).epsilon(1e-9));
  REQUIRE(simulation->links()[0].bytes.value() == 1e9);
  REQUIRE(simulation->links()[0].busy.value() == Approx(0.02).epsilon(1e-9));
}

TEST_CASE("flows: latencies do not change what a flow gets of a link", "[sim][flows]") {
  // Both want 1 GB of 50 GB/s. The first is alone for 1 ms and has 0.95 GB left; sharing, that
  // takes 38 ms, after which the second has 0.05 GB left.
  const auto backend = GENERATE(FlowBackend::plug_in, FlowBackend::simgrid);
  const auto simulation = make_flow_simulation(one_link(50.0 * GBps), backend);
  const auto ends = run_flows(*simulation, {{Seconds{}, {{{0}}, 1.0 * GB, 1.0 * ms}},
                                            {Seconds{}, {{{0}}, 1.0 * GB, 2.0 * ms}}});
  REQUIRE(ends[0] == Approx(0.040).epsilon(1e-9));
  REQUIRE(ends[1] == Approx(0.041).epsilon(1e-9));
}

TEST_CASE("flows: a link that loses half its capacity on the way", "[sim][flows]") {
  // 1 GB over 50 GB/s, 25 GB/s from 5 ms to 15 ms: 0.25 GB in each of these two spans.
  const auto backend = GENERATE(FlowBackend::plug_in, FlowBackend::simgrid);
  const auto simulation = make_flow_simulation(one_link(50.0 * GBps), backend);
  Seconds end;
  simulation->start({{{0}}, 1.0 * GB, Seconds{}}, 0);
  simulation->at(5.0 * ms, 1);
  simulation->at(15.0 * ms, 2);
  simulation->run([&](std::uint64_t tag) {
    if (tag == 0) end = simulation->now();
    if (tag == 1) simulation->set_capacity(0, 25.0 * GBps);
    if (tag == 2) simulation->set_capacity(0, 50.0 * GBps);
  });
  REQUIRE(end.value() == Approx(0.025).epsilon(1e-9));
}

TEST_CASE("flows: one that starts on a slow link goes faster once the link does", "[sim][flows]") {
  const auto backend = GENERATE(FlowBackend::plug_in, FlowBackend::simgrid);
  const auto simulation = make_flow_simulation(one_link(10.0 * GBps), backend);
  Seconds end;
  simulation->start({{{0}}, 1.0 * GB, Seconds{}}, 0);
  simulation->at(50.0 * ms, 1);
  simulation->run([&](std::uint64_t tag) {
    if (tag == 0) end = simulation->now();
    if (tag == 1) simulation->set_capacity(0, 50.0 * GBps);
  });
  REQUIRE(end.value() == Approx(0.060).epsilon(1e-9));  // 0.5 GB at 10 GB/s, 0.5 GB at 50 GB/s
}

TEST_CASE("flows: a weight of three is as good as three flows", "[sim][flows]") {
  // SimGrid has no weights to set, so three flows of a third of the bytes stand for one of them.
  const auto weighted = make_flow_simulation(one_link(50.0 * GBps));
  const auto ends = run_flows(*weighted, {{Seconds{}, {{{0}}, 3.0 * GB, Seconds{}, 3.0}},
                                          {Seconds{}, {{{0}}, 2.0 * GB, Seconds{}}}});
  const auto split = make_flow_simulation(one_link(50.0 * GBps), FlowBackend::simgrid);
  const test::TimedFlow third{Seconds{}, {{{0}}, 1.0 * GB, Seconds{}}};
  const auto expected =
      run_flows(*split, {third, third, third, {Seconds{}, {{{0}}, 2.0 * GB, Seconds{}}}});
  REQUIRE(ends[0] == Approx(0.08).epsilon(1e-12));  // 3 GB at 37.5 GB/s
  REQUIRE(ends[1] == Approx(0.10).epsilon(1e-12));
  REQUIRE(expected[0] == Approx(ends[0]).epsilon(1e-9));
  REQUIRE(expected[3] == Approx(ends[1]).epsilon(1e-9));
}

TEST_CASE("flows: events of one time come in the order of their start", "[sim][flows]") {
  const auto simulation = make_flow_simulation({{50.0 * GBps, 50.0 * GBps}});
  std::vector<std::uint64_t> order;
  simulation->at(20.0 * ms, 12);
  simulation->start({{{1}}, 1.0 * GB, Seconds{}}, 14);
  for (std::uint64_t tag = 20; tag > 15; --tag) simulation->at(20.0 * ms, tag);
  simulation->start({{{0}}, 1.0 * GB, Seconds{}}, 3);
  simulation->start({{}, Bytes{}, 20.0 * ms}, 2);
  simulation->run([&](std::uint64_t tag) { order.push_back(tag); });
  REQUIRE(order == std::vector<std::uint64_t>{12, 14, 20, 19, 18, 17, 16, 3, 2});
}

TEST_CASE("flows: both back-ends agree within 1 ns on 10,000 random flows",
          "[sim][flows][property]") {
  const auto [kind, count] =
      GENERATE(table<test::TestFabric::Kind, int>({{test::TestFabric::Kind::star, 4000},
                                                   {test::TestFabric::Kind::leaf_spine, 3000},
                                                   {test::TestFabric::Kind::rails, 3000}}));
  const test::TestFabric fabric{kind};
  const auto flows = test::random_flows(fabric, count, 20261121);
  const auto ours = ends_of(fabric, flows, FlowBackend::plug_in);
  const auto theirs = ends_of(fabric, flows, FlowBackend::simgrid);
  double worst = 0.0;
  int contended = 0;
  for (std::size_t id = 0; id < flows.size(); ++id) {
    worst = std::max(worst, std::abs(ours[id] - theirs[id]));
    const Flow& flow = flows[id].flow;
    const Seconds alone = flows[id].start + flow.latency + flow.bytes / (50.0 * GBps);
    if (ours[id] > 1.0001 * alone.value()) ++contended;
  }
  INFO("largest difference " << worst << " s");
  REQUIRE(worst < 1e-9);
  REQUIRE(contended > count / 2);  // or there was nothing to agree on
}

TEST_CASE("flows: the same flows give the same bytes, whatever ran before", "[sim][flows]") {
  const test::TestFabric fabric{test::TestFabric::Kind::leaf_spine};
  const auto flows = test::random_flows(fabric, 2000, 5);
  const auto first = ends_of(fabric, flows, FlowBackend::plug_in);
  const auto other = ends_of(fabric, test::random_flows(fabric, 100, 6), FlowBackend::simgrid);
  REQUIRE(ends_of(fabric, flows, FlowBackend::plug_in) == first);
  REQUIRE(test::random_flows(fabric, 100, 6)[0].start != flows[0].start);
}

TEST_CASE("flows: what crosses a link is counted there", "[sim][flows]") {
  const test::TestFabric fabric{test::TestFabric::Kind::rails};
  const auto flows = test::random_flows(fabric, 500, 9);
  std::vector<double> expected(fabric.network().links.size());
  for (const auto& timed : flows)
    for (const Hop& use : timed.flow.route) expected[use.link] += timed.flow.bytes.value();
  const auto backend = GENERATE(FlowBackend::plug_in, FlowBackend::simgrid);
  const auto simulation = make_flow_simulation(fabric.network(), backend);
  run_flows(*simulation, flows);
  for (std::size_t link = 0; link < expected.size(); ++link) {
    const LinkRecord& record = simulation->links()[link];
    REQUIRE(record.bytes.value() == Approx(expected[link]).epsilon(1e-12));
    REQUIRE(record.bytes <= 1.000001 * record.busy * fabric.network().links[link]);
  }
}

TEST_CASE("flows: what a back-end cannot do is refused", "[sim][flows]") {
  const auto ours = make_flow_simulation(one_link(1.0 * GBps));
  const auto theirs = make_flow_simulation(one_link(1.0 * GBps), FlowBackend::simgrid);
  REQUIRE_THROWS_AS(ours->start({{}, 1.0 * GB, Seconds{}}, 0), std::logic_error);
  REQUIRE_THROWS_AS(ours->start({{{7}}, 1.0 * GB, Seconds{}}, 0), std::logic_error);
  REQUIRE_THROWS_AS(ours->at(-1.0 * ms, 0), std::logic_error);
  REQUIRE_THROWS_AS(theirs->start({{{7}}, 1.0 * GB, Seconds{}}, 0), std::logic_error);
  REQUIRE_THROWS_AS(theirs->start({{{0}}, 1.0 * GB, Seconds{}, 2.0}, 0), std::logic_error);
  REQUIRE_THROWS_AS(theirs->start({{{0, 0.5}}, 1.0 * GB, Seconds{}}, 0), std::logic_error);
  REQUIRE_THROWS_AS(make_flow_simulation(one_link(0.0 * GBps), FlowBackend::simgrid),
                    std::logic_error);
}

TEST_CASE("flows: an exception of the caller comes out of run(), and the engine goes on",
          "[sim][flows]") {
  const auto backend = GENERATE(FlowBackend::plug_in, FlowBackend::simgrid);
  {
    const auto broken = make_flow_simulation(one_link(1.0 * GBps), backend);
    broken->start({{{0}}, 1.0 * GB, Seconds{}}, 1);
    broken->at(1.0 * ms, 0);
    REQUIRE_THROWS_AS(broken->run([](std::uint64_t) { throw std::runtime_error("stop"); }),
                      std::runtime_error);
  }
  const auto next = make_flow_simulation(one_link(1.0 * GBps), backend);
  std::vector<double> events;
  next->start({{{0}}, 1.0 * GB, Seconds{}}, 0);
  next->run([&](std::uint64_t) { events.push_back(next->now().value()); });
  REQUIRE(events.size() == 1);
  REQUIRE(events[0] == Approx(1.0).epsilon(1e-9));
}
