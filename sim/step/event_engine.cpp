// SPDX-License-Identifier: Apache-2.0
#include "sim/step/event_engine.hpp"

#include <cstddef>
#include <limits>

#include "models/base/require.hpp"
#include "sim/step/internal/graph_player.hpp"

namespace foretrain {
namespace {

/// Patterns of a map as channels; every replica by itself.
class MapTraffic final : public TrafficSource {
 public:
  explicit MapTraffic(const TrafficMap& map) : map_{map} {}

  [[nodiscard]] TaskTraffic of(std::uint32_t task) const override {
    if (task >= map_.of_task.size() || map_.of_task[task] == TrafficMap::none) return {};
    TaskTraffic use;
    use.channel = map_.of_task[task];
    return use;
  }
  [[nodiscard]] const std::vector<Flow>& flows(std::uint32_t channel, int /*group*/) override {
    return map_.patterns[channel];
  }
  void started(std::uint32_t /*channel*/, int /*group*/, Seconds /*now*/) override {}
  void moved(std::uint32_t /*channel*/, int /*group*/, double /*amount*/,
             Seconds /*now*/) override {}

 private:
  const TrafficMap& map_;
};

void check(const TaskGraph& graph, const TrafficMap& traffic) {
  FORETRAIN_REQUIRE(traffic.of_task.empty() || traffic.of_task.size() == graph.tasks.size());
  for (const std::uint32_t pattern : traffic.of_task)
    FORETRAIN_REQUIRE(pattern == TrafficMap::none || pattern < traffic.patterns.size());
  for (const std::vector<Flow>& pattern : traffic.patterns) FORETRAIN_REQUIRE(!pattern.empty());
}

}  // namespace

Replay replay(const TaskGraph& graph, const FlowNetwork& network, TrafficSource& traffic,
              const ReplayOptions& options) {
  FORETRAIN_REQUIRE(options.replicas >= 1);
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id)
    FORETRAIN_REQUIRE(graph.before(id).size() <= std::numeric_limits<std::uint16_t>::max());
  const auto simulation = make_flow_simulation(network, options.backend);
  GraphPlayer player{graph, *simulation, traffic, options};
  bool stopped = false;
  try {
    player.start();
    simulation->run([&](std::uint64_t tag) { player.on_event(tag); });
  } catch (const GraphPlayer::Stopped&) {
    stopped = true;
  }
  Replay replay = player.result();
  replay.stopped = stopped;
  return replay;
}

Replay replay(const TaskGraph& graph, const FlowNetwork& network, const TrafficMap& traffic,
              const ReplayOptions& options) {
  check(graph, traffic);
  MapTraffic source{traffic};
  return replay(graph, network, source, options);
}

}  // namespace foretrain
