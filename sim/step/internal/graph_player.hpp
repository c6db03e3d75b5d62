// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "models/step/task_graph.hpp"
#include "sim/flows/flow_network.hpp"
#include "sim/step/event_engine.hpp"

namespace foretrain {

/// Tasks that wait for a task, as compressed rows.
struct Successors {
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> ids;

  [[nodiscard]] std::span<const std::uint32_t> after(std::uint32_t task) const {
    return {ids.data() + first[task], ids.data() + first[task + 1]};
  }
};

[[nodiscard]] inline Successors successors_of(const TaskGraph& graph) {
  const std::size_t count = graph.tasks.size();
  Successors result{std::vector<std::uint32_t>(count + 1),
                    std::vector<std::uint32_t>(graph.predecessors.size())};
  for (const std::uint32_t before : graph.predecessors) ++result.first[before + 1];
  for (std::size_t id = 0; id < count; ++id) result.first[id + 1] += result.first[id];
  std::vector<std::uint32_t> next(result.first.begin(), result.first.end() - 1);
  for (std::uint32_t id = 0; id < count; ++id)
    for (const std::uint32_t before : graph.before(id)) result.ids[next[before]++] = id;
  return result;
}

/// Plays the replicas of a graph in a simulation that others may share, once or again and again.
class GraphPlayer {
 public:
  /// Thrown by options.on_progress's answer.
  struct Stopped {};

  /// @param first_tag its events have this tag and those after it, one per task of each replica
  /// @pre all outlive the player
  GraphPlayer(const TaskGraph& graph, FlowSimulation& simulation, TrafficSource& traffic,
              const ReplayOptions& options, std::uint64_t first_tag = 0);

  /// Begins the tasks that wait for none. @pre nothing of it is under way
  void start();
  /// @pre the event is the player's, or the network's
  void on_event(std::uint64_t tag);
  [[nodiscard]] bool owns(std::uint64_t tag) const {
    return tag >= first_tag_ && tag - first_tag_ < start_.size();
  }
  /// All tasks have ended.
  [[nodiscard]] bool over() const { return ended_ == start_.size(); }
  /// Of the last start().
  [[nodiscard]] Replay result() const;

 private:
  /// A task of a replica: replica * tasks + task.
  using Id = std::uint64_t;

  /// A channel's flows on routes that the simulation keeps.
  struct Known {
    std::vector<Flow> flows;
    std::vector<std::vector<Hop>> routes;  ///< by flow; only where the network can change
  };
  /// Flows of a task that are under way.
  struct Part {
    FlowHandle flow;
    std::shared_ptr<const Known> of;
    std::uint32_t index = 0;  ///< among the channel's flows
    bool detoured = false;
  };
  struct Running {
    std::uint32_t left = 0;   ///< parts that have not ended
    std::vector<Part> parts;  ///< only where the network can change
  };

  [[nodiscard]] std::uint32_t task_of(Id id) const {
    return static_cast<std::uint32_t>(id % count_);
  }
  [[nodiscard]] int replica_of(Id id) const { return static_cast<int>(id / count_); }
  [[nodiscard]] Id id_of(int replica, std::uint32_t task) const {
    return static_cast<Id>(replica) * count_ + task;
  }
  [[nodiscard]] Seconds duration(Id id) const {
    return options_.duration ? options_.duration(replica_of(id), task_of(id), simulation_->now())
                             : graph_.cost_of(task_of(id)).duration;
  }
  void begin(Id id);
  void launch(Id leader, const TaskTraffic& use);
  [[nodiscard]] const std::shared_ptr<const Known>& known(std::uint32_t channel, int group);
  void forget_known();
  void start_flows(Id leader, const TaskTraffic& use);
  void end_part(Id leader);
  void end_all(Id leader);
  void end(Id id);
  void await_network();
  void network_changes();
  void reroute(Id leader, Running& running);
  void report();

  const TaskGraph& graph_;
  TrafficSource& traffic_;
  const ReplayOptions& options_;
  std::size_t count_;  ///< tasks of a replica
  Successors successors_;
  FlowSimulation* simulation_;
  std::uint64_t first_tag_;
  std::uint64_t events_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t exchanges_ = 0;
  std::uint64_t slowed_ = 0;
  std::vector<double> start_;  ///< the following by Id
  std::vector<double> end_;
  std::vector<std::uint16_t> missing_;             ///< predecessors that have not ended
  std::unordered_map<Id, std::uint32_t> arrived_;  ///< replicas at a task that they run together
  std::unordered_map<Id, Running> running_;        ///< of several flows, or that may be re-routed
  /// By channel and group.
  std::vector<std::vector<std::shared_ptr<const Known>>> known_;
};

}  // namespace foretrain
