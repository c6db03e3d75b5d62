// SPDX-License-Identifier: Apache-2.0
// Flows under way at random, timed by the shortest program that shares links max-min fairly: after
// every start and end it solves all links anew. The engine must come to the same times.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "sim/flows/flow_network.hpp"

using namespace foretrain;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

struct PlainFlow {
  Flow flow;
  double from = 0.0;  ///< seconds: start and latency
  double left = 0.0;
  double rate = 0.0;
  double end = never;
};

/// Water filling by the book: the level rises for all until a link is full or a flow has what it
/// can use at most; those are fixed, and the rest goes on.
class PlainSharing {
 public:
  PlainSharing(std::vector<double> capacity, std::vector<PlainFlow*> flows)
      : left_{std::move(capacity)}, open_{std::move(flows)} {}

  void share() {
    while (!open_.empty()) rise();
  }

 private:
  [[nodiscard]] double weight_on(std::size_t link) const {
    double sum = 0.0;
    for (const PlainFlow* one : open_)
      for (const Hop& hop : one->flow.route)
        if (hop.link == link) sum += hop.share * one->flow.weight;
    return sum;
  }
  void rise() {
    double level = never;
    for (std::size_t link = 0; link < left_.size(); ++link)
      if (const double weight = weight_on(link); weight > 0.0)
        level = std::min(level, left_[link] / weight);
    for (const PlainFlow* one : open_)
      level = std::min(level, one->flow.max_rate.value() / one->flow.weight);
    std::vector<bool> full(left_.size());
    for (std::size_t link = 0; link < left_.size(); ++link)
      if (const double weight = weight_on(link); weight > 0.0)
        full[link] = left_[link] / weight <= level * (1.0 + 1e-12);
    std::erase_if(open_, [&](PlainFlow* one) {
      bool fixed = one->flow.max_rate.value() / one->flow.weight <= level * (1.0 + 1e-12);
      for (const Hop& hop : one->flow.route) fixed = fixed || full[hop.link];
      if (!fixed) return false;
      one->rate = level * one->flow.weight;
      for (const Hop& hop : one->flow.route)
        left_[hop.link] = std::max(0.0, left_[hop.link] - hop.share * one->rate);
      return true;
    });
  }

  std::vector<double> left_;
  std::vector<PlainFlow*> open_;
};

/// Ends of all flows, one event after the other.
void play_plainly(const std::vector<double>& capacity, std::vector<PlainFlow>& flows) {
  double now = 0.0;
  for (;;) {
    std::vector<PlainFlow*> running;
    double next = never;
    for (PlainFlow& one : flows) {
      if (one.end < never) continue;
      if (one.from > now)
        next = std::min(next, one.from);
      else
        running.push_back(&one);
    }
    PlainSharing(capacity, running).share();
    for (const PlainFlow* one : running) next = std::min(next, now + one->left / one->rate);
    if (next == never) return;
    for (PlainFlow* one : running) {
      one->left -= one->rate * (next - now);
      if (one->left <= 1e-12 * one->flow.bytes.value()) one->end = next;
    }
    now = next;
  }
}

struct Case {
  std::vector<double> capacity;
  std::vector<PlainFlow> flows;
};

/// From a few links that all use to many that few meet on; plain, weighted, coupled and with rates
/// of their own; some of them equal, so that dates coincide.
Case random_case(std::mt19937_64& engine) {
  const auto below = [&](std::uint64_t end) { return static_cast<std::uint32_t>(engine() % end); };
  Case one;
  const std::uint32_t links = 1 + below(24);
  for (std::uint32_t link = 0; link < links; ++link) one.capacity.push_back(1e9 * (1 + below(8)));
  const bool coupled = below(2) == 0;
  const bool limited = below(2) == 0;
  const std::uint32_t flows = 2 + below(30);
  for (std::uint32_t i = 0; i < flows; ++i) {
    PlainFlow made;
    std::vector<std::uint32_t> ids(links);
    for (std::uint32_t link = 0; link < links; ++link) ids[link] = link;
    std::shuffle(ids.begin(), ids.end(), engine);
    ids.resize(1 + below(std::min<std::uint32_t>(links, 6)));
    for (const std::uint32_t link : ids)
      made.flow.route.push_back({link, coupled ? (1 + below(8)) / 8.0 : 1.0});
    if (coupled) made.flow.weight = 1 + below(4);
    if (limited && below(3) > 0) made.flow.max_rate = BytesPerSecond{0.25e9 * (1 + below(12))};
    made.flow.bytes = Bytes{1e6 * (1 + below(40))};
    if (below(3) == 0) made.flow.latency = Seconds{1e-3 * below(10)};
    made.from = 1e-3 * below(12);
    one.flows.push_back(made);
  }
  return one;
}

/// By flow, from the engine; routes are kept where `keep` says so.
std::vector<double> engine_ends(const Case& one, bool keep) {
  FlowNetwork network;
  for (const double rate : one.capacity) network.links.emplace_back(rate);
  const auto simulation = make_flow_simulation(network);
  constexpr std::uint64_t starts = 1'000'000;
  std::vector<Flow> flows;
  for (const PlainFlow& plain : one.flows) {
    flows.push_back(plain.flow);
    if (!keep) continue;
    flows.back().kept = simulation->keep(plain.flow.route);
    flows.back().route.clear();
  }
  for (std::size_t i = 0; i < flows.size(); ++i)
    simulation->at(Seconds{one.flows[i].from}, starts + i);
  std::vector<double> ends(flows.size());
  simulation->run([&](std::uint64_t tag) {
    if (tag >= starts)
      (void)simulation->start(flows[tag - starts], tag - starts);
    else
      ends[tag] = simulation->now().value();
  });
  return ends;
}

}  // namespace

TEST_CASE("sharing: the engine times flows as solving everything anew does",
          "[sim][max-min][property]") {
  std::mt19937_64 engine{20261123};
  int slowed = 0;
  for (int number = 0; number < 10'000; ++number) {
    const Case one = random_case(engine);
    Case plain = one;
    for (PlainFlow& flow : plain.flows) {
      flow.from += flow.flow.latency.value();
      flow.left = flow.flow.bytes.value();
    }
    play_plainly(plain.capacity, plain.flows);
    const std::vector<double> ends = engine_ends(one, number % 2 == 0);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const PlainFlow& flow = plain.flows[i];
      CAPTURE(number, i, flow.end);
      REQUIRE(std::abs(ends[i] - flow.end) <= 1e-9 * flow.end);
      double alone = flow.flow.max_rate.value();
      for (const Hop& hop : flow.flow.route)
        alone = std::min(alone, plain.capacity[hop.link] / hop.share);
      if (flow.end - flow.from > 1.01 * flow.flow.bytes.value() / alone) ++slowed;
    }
  }
  REQUIRE(slowed > 100'000);  // most of them meet others
}
