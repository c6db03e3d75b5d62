// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/step/path.hpp"
#include "models/step/task_graph.hpp"
#include "sim/flows/flow_network.hpp"

namespace foretrain {

/// Tag of flows that are nobody's task.
inline constexpr std::uint64_t background_flow = ~0ULL - 1;

/// Something that happens to the network while a graph is played, from outside of it.
class NetworkEvents {
 public:
  NetworkEvents() = default;
  NetworkEvents(const NetworkEvents&) = delete;
  NetworkEvents& operator=(const NetworkEvents&) = delete;
  virtual ~NetworkEvents() = default;

  /// When the next one is due; infinite: none any more.
  [[nodiscard]] virtual Seconds next() = 0;
  /// Lets it happen, now. @return true where routes have changed: flows under way on links that
  /// are gone, or that went round some, are then started again with the bytes that they have left.
  virtual bool apply(FlowSimulation& simulation) = 0;
  /// Links that carry nothing at the moment, by link id; may be shorter than the network.
  [[nodiscard]] virtual const std::vector<bool>& down() const = 0;
  /// Traffic that is nobody's task ends, since all tasks have.
  virtual void finish(FlowSimulation& simulation) = 0;
};

/// How far a replay has come.
struct ReplayProgress {
  std::uint64_t ended = 0;  ///< tasks of all replicas
  std::uint64_t tasks = 0;
  Seconds now;
};

struct ReplayOptions {
  FlowBackend backend = FlowBackend::plug_in;
  int replicas = 1;  ///< copies of the graph that are played side by side
  /// What a task of a replica takes when it starts now; empty: what its cost says.
  std::function<Seconds(int replica, std::uint32_t task, Seconds now)> duration{};
  NetworkEvents* network_events = nullptr;
  /// Called every few thousand tasks; false stops the replay, which then returns what is known.
  std::function<bool(const ReplayProgress& progress)> on_progress{};
};

struct Replay {
  Timeline timeline;               ///< of replica 0
  std::vector<Timeline> replicas;  ///< of the others
  std::vector<LinkRecord> links;   ///< by link id of the network
  std::uint64_t events = 0;        ///< flows and timers that ended
  std::uint64_t exchanges = 0;     ///< tasks with traffic, those of replicas together as one
  std::uint64_t slowed = 0;        ///< of these, by other traffic or by their own flows
  bool stopped = false;            ///< by on_progress: what has not ended is zero

  [[nodiscard]] const Timeline& of(int replica) const {
    return replica == 0 ? timeline : replicas[static_cast<std::size_t>(replica) - 1];
  }
};

/// Plays a task graph, or several replicas of it, in simulated time. A task starts when its last
/// predecessor has ended; what replicas do together moves when the last of them has started it.
/// Flows share links (max_min.hpp); what kernels lose to traffic beside them is a task of the
/// graph. Without patterns the result is that of longest_path().
/// @pre patterns exist and their links are in the network; replicas >= 1
[[nodiscard]] Replay replay(const TaskGraph& graph, const FlowNetwork& network,
                            const TrafficMap& traffic, const ReplayOptions& options = {});
[[nodiscard]] Replay replay(const TaskGraph& graph, const FlowNetwork& network,
                            TrafficSource& traffic, const ReplayOptions& options = {});

}  // namespace foretrain
