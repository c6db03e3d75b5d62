// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "sim/flows/flow_network.hpp"

namespace foretrain::test {

/// Hosts that talk at random: a set of links, and which of them lead from one host to another.
struct TestFabric {
  enum class Kind : std::uint8_t { star, leaf_spine, rails } kind = Kind::star;
  static constexpr std::uint32_t hosts = 64;
  static constexpr std::uint32_t leaves = 8;  ///< leaf_spine: 8 hosts each
  static constexpr std::uint32_t spines = 4;
  static constexpr std::uint32_t rails = 8;  ///< rails: a host has a share of each

  /// Up and down links of the hosts, then those of the leaves or the rails.
  [[nodiscard]] FlowNetwork network() const {
    FlowNetwork result;
    result.links.assign(std::size_t{2} * hosts, 50.0 * GBps);
    if (kind == Kind::leaf_spine)
      result.links.resize(result.links.size() + std::size_t{2} * leaves * spines, 100.0 * GBps);
    if (kind == Kind::rails) result.links.resize(result.links.size() + rails, 200.0 * GBps);
    return result;
  }

  [[nodiscard]] std::vector<Hop> route(std::uint32_t from, std::uint32_t to,
                                       std::uint32_t hash) const {
    std::vector<Hop> links{{2 * from}};
    if (kind == Kind::leaf_spine && from / leaves != to / leaves) {
      const std::uint32_t spine = hash % spines;
      links.push_back({2 * hosts + 2 * (from / leaves * spines + spine)});
      links.push_back({2 * hosts + 2 * (to / leaves * spines + spine) + 1});
    }
    if (kind == Kind::rails) links.push_back({2 * hosts + hash % rails});
    links.push_back({2 * to + 1});
    return links;
  }
};

struct TimedFlow {
  Seconds start;
  Flow flow;
};

/// The same flows on every machine: only the engine's raw numbers are used.
inline std::vector<TimedFlow> random_flows(const TestFabric& fabric, int count,
                                           std::uint64_t seed) {
  std::mt19937_64 engine{seed};
  const auto below = [&](std::uint64_t end) { return static_cast<std::uint32_t>(engine() % end); };
  std::vector<TimedFlow> flows;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t from = below(TestFabric::hosts);
    const std::uint32_t to = (from + 1 + below(TestFabric::hosts - 1)) % TestFabric::hosts;
    TimedFlow timed;
    timed.start = static_cast<double>(below(1'000'000)) * 10e-9 * Seconds{1.0};
    timed.flow.route = fabric.route(from, to, below(1 << 20));
    timed.flow.bytes = Bytes{static_cast<double>(1 + below(8'000'000))};
    if (below(4) == 0) timed.flow.latency = static_cast<double>(below(50)) * us;
    flows.push_back(timed);
  }
  return flows;
}

}  // namespace foretrain::test
