// SPDX-License-Identifier: Apache-2.0
#include "sim/step/event_engine.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

#include "models/base/require.hpp"
#include "sim/step/internal/task_order.hpp"

namespace foretrain {
namespace {

constexpr std::uint64_t network_event = ~0ULL;  ///< tag
constexpr std::uint64_t tasks_per_report = 4096;
constexpr double time_rounding = 1e-12;

struct Stopped {};

/// A task of a replica: replica * tasks + task.
using Id = std::uint64_t;

class Player {
 public:
  Player(const TaskGraph& graph, const FlowNetwork& network, TrafficSource& traffic,
         const ReplayOptions& options);

  Replay play();

 private:
  /// Flows of a task that are under way.
  struct Part {
    FlowHandle flow;
    std::uint32_t index = 0;  ///< among the channel's flows
    std::vector<Hop> route;
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
  void start_flows(Id leader, const TaskTraffic& use);
  void end_part(Id leader);
  void end_all(Id leader);
  void end(Id id);
  void await_network();
  void network_changes();
  void reroute(Id leader, Running& running);
  void report();
  [[nodiscard]] Replay result();

  const TaskGraph& graph_;
  TrafficSource& traffic_;
  const ReplayOptions& options_;
  std::size_t count_;  ///< tasks of a replica
  Successors successors_;
  std::unique_ptr<FlowSimulation> simulation_;
  std::uint64_t events_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t exchanges_ = 0;
  std::uint64_t slowed_ = 0;
  bool finished_ = false;
  std::vector<double> start_;  ///< the following by Id
  std::vector<double> end_;
  std::vector<std::uint16_t> missing_;             ///< predecessors that have not ended
  std::unordered_map<Id, std::uint32_t> arrived_;  ///< replicas at a task that they run together
  std::unordered_map<Id, Running> running_;        ///< of several flows, or that may be re-routed
  Flow scratch_;
};

Player::Player(const TaskGraph& graph, const FlowNetwork& network, TrafficSource& traffic,
               const ReplayOptions& options)
    : graph_{graph},
      traffic_{traffic},
      options_{options},
      count_{graph.tasks.size()},
      successors_{successors_of(graph)},
      simulation_{make_flow_simulation(network, options.backend)} {
  const std::size_t all = count_ * static_cast<std::size_t>(options.replicas);
  start_.resize(all);
  end_.resize(all);
  missing_.resize(all);
}

void Player::begin(Id id) {
  start_[id] = simulation_->now().value();
  const TaskTraffic use = traffic_.of(task_of(id));
  if (use.together <= 1 || options_.replicas == 1) return launch(id, use);
  const int first = replica_of(id) / use.together * use.together;
  const int members = std::min(use.together, options_.replicas - first);
  const Id leader = id_of(first, task_of(id));
  if (++arrived_[leader] < static_cast<std::uint32_t>(members)) return;
  arrived_.erase(leader);
  launch(leader, use);
}

void Player::launch(Id leader, const TaskTraffic& use) {
  if (use.channel != TaskTraffic::none) return start_flows(leader, use);
  simulation_->at(simulation_->now() + duration(leader), leader);
}

void Player::start_flows(Id leader, const TaskTraffic& use) {
  const int group = replica_of(leader) / use.together;
  const std::vector<Flow>& flows = traffic_.flows(use.channel, group);
  traffic_.started(use.channel, group, simulation_->now());
  Seconds alone;
  Running* running = nullptr;
  if (flows.size() > 1 || options_.network_events != nullptr) {
    running = &running_[leader];
    running->left = static_cast<std::uint32_t>(flows.size());
  }
  for (std::uint32_t i = 0; i < flows.size(); ++i) {
    scratch_ = flows[i];
    scratch_.bytes *= use.amount;
    scratch_.latency += use.latency;
    const Seconds wire = scratch_.bytes > Bytes{} ? scratch_.bytes / scratch_.max_rate : Seconds{};
    alone = max(alone, scratch_.latency + wire);
    if (scratch_.route.empty()) {
      simulation_->at(simulation_->now() + scratch_.latency + wire, leader);
      continue;
    }
    const FlowHandle handle = simulation_->start(scratch_, leader);
    if (options_.network_events != nullptr)
      running->parts.push_back({handle, i, scratch_.route, false});
  }
  end_[leader] = (simulation_->now() + alone).value();  // what end_all() compares with
}

void Player::end_part(Id leader) {
  ++events_;
  if (const auto found = running_.find(leader); found != running_.end()) {
    if (--found->second.left > 0) return;
    running_.erase(found);
  }
  end_all(leader);
}

void Player::end_all(Id leader) {
  const TaskTraffic use = traffic_.of(task_of(leader));
  if (use.channel != TaskTraffic::none) {
    traffic_.moved(use.channel, replica_of(leader) / use.together, use.amount, simulation_->now());
    ++exchanges_;
    const double late = simulation_->now().value() - end_[leader];
    if (late > time_rounding * simulation_->now().value()) ++slowed_;
  }
  if (use.together <= 1) return end(leader);
  const int last = std::min(replica_of(leader) + use.together, options_.replicas);
  for (int replica = replica_of(leader); replica < last; ++replica)
    end(id_of(replica, task_of(leader)));
}

void Player::end(Id id) {
  end_[id] = simulation_->now().value();
  if (++ended_ % tasks_per_report == 0) report();
  const Id first = id - task_of(id);
  for (const std::uint32_t next : successors_.after(task_of(id)))
    if (--missing_[first + next] == 0) begin(first + next);
}

void Player::report() {
  if (options_.on_progress && !options_.on_progress({ended_, start_.size(), simulation_->now()}))
    throw Stopped{};
}

void Player::await_network() {
  if (options_.network_events == nullptr) return;
  const Seconds next = options_.network_events->next();
  if (is_finite(next)) simulation_->at(max(next, simulation_->now()), network_event);
}

/// Flows that a dead link has caught go another way with what they have left; those that go round
/// something look for their way again.
void Player::reroute(Id leader, Running& running) {
  const std::vector<bool>& down = options_.network_events->down();
  const TaskTraffic use = traffic_.of(task_of(leader));
  for (Part& part : running.parts) {
    bool dead = part.detoured;
    for (const Hop& hop : part.route) dead = dead || (hop.link < down.size() && down[hop.link]);
    if (!dead) continue;
    const Bytes left = simulation_->stop(part.flow);
    if (left <= Bytes{}) continue;
    scratch_ = traffic_.flows(use.channel, replica_of(leader) / use.together)[part.index];
    scratch_.bytes = left;
    part.route = scratch_.route;
    part.detoured = true;
    part.flow = simulation_->start(scratch_, leader);
  }
}

void Player::network_changes() {
  if (ended_ == start_.size()) return;
  if (options_.network_events->apply(*simulation_)) {
    std::vector<Id> leaders;  // in an order that does not depend on the map
    for (const auto& [leader, running] : running_) leaders.push_back(leader);
    std::sort(leaders.begin(), leaders.end());
    for (const Id leader : leaders) reroute(leader, running_[leader]);
  }
  await_network();
}

Replay Player::result() {
  Replay replay;
  replay.events = events_;
  replay.exchanges = exchanges_;
  replay.slowed = slowed_;
  for (int replica = 0; replica < options_.replicas; ++replica) {
    Timeline timeline;
    timeline.start.reserve(count_);
    timeline.end.reserve(count_);
    for (Id id = id_of(replica, 0); id < id_of(replica, 0) + count_; ++id) {
      timeline.start.emplace_back(start_[id]);
      timeline.end.emplace_back(end_[id]);
    }
    measure_makespan(graph_, timeline);
    if (replica == 0)
      replay.timeline = std::move(timeline);
    else
      replay.replicas.push_back(std::move(timeline));
  }
  replay.links.assign(simulation_->links().begin(), simulation_->links().end());
  return replay;
}

Replay Player::play() {
  for (int replica = 0; replica < options_.replicas; ++replica)
    for (std::uint32_t task = 0; task < count_; ++task)
      missing_[id_of(replica, task)] = static_cast<std::uint16_t>(graph_.before(task).size());
  bool stopped = false;
  try {
    if (options_.network_events != nullptr && options_.network_events->next() <= Seconds{})
      options_.network_events->apply(*simulation_);
    await_network();
    for (int replica = 0; replica < options_.replicas; ++replica)
      for (std::uint32_t task = 0; task < count_; ++task)
        if (graph_.before(task).empty()) begin(id_of(replica, task));
    simulation_->run([this](std::uint64_t tag) {
      if (tag == network_event)
        network_changes();
      else if (tag != background_flow)
        end_part(tag);
      if (ended_ < start_.size() || finished_ || options_.network_events == nullptr) return;
      finished_ = true;
      options_.network_events->finish(*simulation_);
    });
  } catch (const Stopped&) {
    stopped = true;
  }
  Replay replay = result();
  replay.stopped = stopped;
  return replay;
}

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
  return Player{graph, network, traffic, options}.play();
}

Replay replay(const TaskGraph& graph, const FlowNetwork& network, const TrafficMap& traffic,
              const ReplayOptions& options) {
  check(graph, traffic);
  MapTraffic source{traffic};
  return replay(graph, network, source, options);
}

}  // namespace foretrain
