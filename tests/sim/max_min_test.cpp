// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/max_min.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <stdexcept>

#include "tests/sim/random_traffic.hpp"

using namespace foretrain;

namespace {

FlowNetwork links(std::initializer_list<double> capacities) {
  FlowNetwork network;
  for (const double capacity : capacities) network.links.emplace_back(capacity);
  return network;
}

struct Held {
  std::vector<Hop> route;
  double weight;
};

/// The definition: no link carries more than it can, and each flow has a saturated link on which
/// nobody else has more per weight. There is exactly one such set of rates.
void check_fair(const MaxMin& sharing, const FlowNetwork& network,
                const std::map<std::uint32_t, Held>& flows) {
  std::vector<double> load(network.links.size());
  std::vector<double> highest(network.links.size());
  for (const auto& [id, flow] : flows)
    for (const Hop& use : flow.route) {
      load[use.link] += use.share * sharing.rate(id);
      highest[use.link] = std::max(highest[use.link], sharing.rate(id) / flow.weight);
    }
  for (std::size_t link = 0; link < load.size(); ++link)
    REQUIRE(load[link] <= network.links[link].value() * (1.0 + 1e-9));
  for (const auto& [id, flow] : flows) {
    const double level = sharing.rate(id) / flow.weight;
    const bool limited = std::any_of(flow.route.begin(), flow.route.end(), [&](const Hop& use) {
      return load[use.link] >= network.links[use.link].value() * (1.0 - 1e-9) &&
             level >= highest[use.link] * (1.0 - 1e-9);
    });
    REQUIRE(limited);
  }
}

}  // namespace

TEST_CASE("max-min: a flow alone gets its slowest link", "[sim][max-min]") {
  MaxMin sharing{links({50.0, 20.0, 30.0})};
  sharing.add(0, {{0}, {1}, {2}}, 1.0);
  REQUIRE(sharing.solve() == std::vector<std::uint32_t>{0});
  REQUIRE(sharing.rate(0) == 20.0);
  REQUIRE(sharing.solve().empty());
}

TEST_CASE("max-min: the textbook line of links", "[sim][max-min]") {
  // One long flow over both links, one short flow on each; capacities 10 and 16: the first link
  // gives 5 to each of its two, and what that leaves of the second goes to its short flow.
  MaxMin sharing{links({10.0, 16.0})};
  sharing.add(0, {{0}, {1}}, 1.0);
  sharing.add(1, {{0}}, 1.0);
  sharing.add(2, {{1}}, 1.0);
  sharing.solve();
  REQUIRE(sharing.rate(0) == 5.0);
  REQUIRE(sharing.rate(1) == 5.0);
  REQUIRE(sharing.rate(2) == 11.0);

  SECTION("a flow that ends leaves its share to the others") {
    sharing.remove(1);
    REQUIRE(sharing.solve() == std::vector<std::uint32_t>{0, 2});
    REQUIRE(sharing.rate(0) == 8.0);
    REQUIRE(sharing.rate(2) == 8.0);
  }
  SECTION("a link that loses capacity slows its flows only") {
    sharing.set_capacity(0, BytesPerSecond{4.0});
    sharing.solve();
    REQUIRE(sharing.rate(0) == 2.0);
    REQUIRE(sharing.rate(1) == 2.0);
    REQUIRE(sharing.rate(2) == 14.0);
  }
}

TEST_CASE("max-min: weights divide a link in proportion", "[sim][max-min]") {
  MaxMin sharing{links({12.0})};
  sharing.add(0, {{0}}, 1.0);
  sharing.add(1, {{0}}, 3.0);
  sharing.add(2, {{0}}, 2.0);
  sharing.solve();
  REQUIRE(sharing.rate(0) == Approx(2.0).epsilon(1e-12));
  REQUIRE(sharing.rate(1) == Approx(6.0).epsilon(1e-12));
  REQUIRE(sharing.rate(2) == Approx(4.0).epsilon(1e-12));
}

TEST_CASE("max-min: a coupled activity takes its share of every link at one pace",
          "[sim][max-min]") {
  // All bytes cross link 0, half of them link 1, which a plain flow shares: x/2 + x = 9.
  MaxMin sharing{links({100.0, 9.0})};
  sharing.add(0, {{0, 1.0}, {1, 0.5}}, 1.0);
  sharing.add(1, {{1}}, 1.0);
  sharing.solve();
  REQUIRE(sharing.rate(0) == Approx(6.0).epsilon(1e-12));
  REQUIRE(sharing.rate(1) == Approx(6.0).epsilon(1e-12));
}

TEST_CASE("max-min: what does not touch a change is not solved again", "[sim][max-min]") {
  MaxMin sharing{links({10.0, 10.0})};
  for (std::uint32_t flow = 0; flow < 4; ++flow) sharing.add(flow, {{flow / 2}}, 1.0);
  REQUIRE(sharing.solve().size() == 4);
  sharing.remove(0);
  REQUIRE(sharing.solve() == std::vector<std::uint32_t>{1});
}

TEST_CASE("max-min: impossible networks and routes are refused", "[sim][max-min]") {
  REQUIRE_THROWS_AS(MaxMin{links({0.0})}, std::logic_error);
  REQUIRE_THROWS_AS(MaxMin{links({-1.0})}, std::logic_error);
  MaxMin sharing{links({10.0, 10.0})};
  REQUIRE_THROWS_AS(sharing.add(0, {}, 1.0), std::logic_error);
  REQUIRE_THROWS_AS(sharing.add(1, {{2}}, 1.0), std::logic_error);
  REQUIRE_THROWS_AS(sharing.add(2, {{0}, {1}, {0}}, 1.0), std::logic_error);
  REQUIRE_THROWS_AS(sharing.set_capacity(0, BytesPerSecond{0.0}), std::logic_error);
}

TEST_CASE("max-min: after any history the rates are the fair ones of the flows that are left",
          "[sim][max-min][property]") {
  const auto kind = GENERATE(test::TestFabric::Kind::star, test::TestFabric::Kind::leaf_spine,
                             test::TestFabric::Kind::rails);
  const bool coupled = GENERATE(false, true);
  const test::TestFabric fabric{kind};
  FlowNetwork network = fabric.network();
  std::mt19937_64 engine{7};
  const auto below = [&](std::uint64_t end) { return static_cast<std::uint32_t>(engine() % end); };
  MaxMin sharing{network};
  std::map<std::uint32_t, Held> flows;
  for (int step = 0; step < 2000; ++step) {
    const std::uint32_t id = below(150);
    if (below(20) == 0) {
      const std::uint32_t link = below(network.links.size());
      network.links[link] = static_cast<double>(1 + below(100)) * GBps;
      sharing.set_capacity(link, network.links[link]);
    }
    if (flows.erase(id) != 0) {
      sharing.remove(id);
    } else {
      const std::uint32_t from = below(test::TestFabric::hosts / 2);
      Held flow{fabric.route(from, from + 1 + below(test::TestFabric::hosts / 2), below(1000)),
                1.0};
      if (coupled) {
        flow.weight = static_cast<double>(1 + below(4));
        for (Hop& use : flow.route) use.share = static_cast<double>(1 + below(8)) / 8.0;
      }
      sharing.add(id, flow.route, flow.weight);
      flows[id] = flow;
    }
    if (below(3) == 0) continue;  // several changes at once
    sharing.solve();
    check_fair(sharing, network, flows);
  }
}
