// SPDX-License-Identifier: Apache-2.0
#include "sim/event_engine.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "models/require.hpp"

namespace foretrain {
namespace {

constexpr std::size_t streams = EnumNames<StreamKind>::names.size();

/// Work of a second of compute at full rate, as bytes of the link that stands for its stream.
constexpr double work_per_second = 1e9;

/// Tasks that wait for a task, as compressed rows.
struct Successors {
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> ids;

  [[nodiscard]] std::span<const std::uint32_t> after(std::uint32_t task) const {
    return {ids.data() + first[task], ids.data() + first[task + 1]};
  }
};

Successors successors_of(const TaskGraph& graph) {
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

bool communicates(const Task& task) {
  return task.kind == TaskKind::flow || task.kind == TaskKind::collective;
}

class Player {
 public:
  Player(const TaskGraph& graph, const FlowNetwork& network, const TrafficMap& traffic,
         const ReplayOptions& options);

  Replay play();

 private:
  void begin(std::uint32_t id);
  void end_part(std::uint32_t id);
  void end(std::uint32_t id);
  void begin_compute(std::uint32_t id);
  void communicate(std::int32_t rank, int change);
  [[nodiscard]] std::uint32_t stream_link(std::int32_t rank, std::size_t stream) const {
    return static_cast<std::uint32_t>(links_ + static_cast<std::size_t>(rank) * streams + stream);
  }

  const TaskGraph& graph_;
  const TrafficMap& traffic_;
  double slowdown_;
  std::size_t links_;  ///< of the network; the streams of the ranks come behind
  Successors successors_;
  std::unique_ptr<FlowSimulation> simulation_;
  Replay replay_;
  std::vector<std::uint32_t> missing_;  ///< predecessors that have not ended
  std::vector<std::uint32_t> parts_;    ///< flows that have not ended
  std::vector<int> communicating_;      ///< tasks, by rank
};

FlowNetwork with_streams(FlowNetwork network, const TaskGraph& graph, double slowdown) {
  if (slowdown > 0.0)
    network.links.resize(network.links.size() + static_cast<std::size_t>(graph.ranks) * streams,
                         BytesPerSecond{work_per_second});
  return network;
}

Player::Player(const TaskGraph& graph, const FlowNetwork& network, const TrafficMap& traffic,
               const ReplayOptions& options)
    : graph_{graph},
      traffic_{traffic},
      slowdown_{options.compute_slowdown},
      links_{network.links.size()},
      successors_{successors_of(graph)},
      simulation_{make_flow_simulation(with_streams(network, graph, slowdown_), options.backend)},
      missing_(graph.tasks.size()),
      parts_(graph.tasks.size(), 1),
      communicating_(static_cast<std::size_t>(graph.ranks)) {
  replay_.timeline.start.resize(graph.tasks.size());
  replay_.timeline.end.resize(graph.tasks.size());
}

/// Compute that can be slowed is a flow on the link of its stream; otherwise a timer will do.
void Player::begin_compute(std::uint32_t id) {
  const Task& task = graph_.tasks[id];
  Flow work;
  work.route = {{stream_link(task.rank, static_cast<std::size_t>(task.stream))}};
  work.bytes = Bytes{graph_.cost_of(id).duration.value() * work_per_second};
  simulation_->start(work, id);
}

void Player::communicate(std::int32_t rank, int change) {
  int& count = communicating_[static_cast<std::size_t>(rank)];
  const bool before = count > 0;
  count += change;
  if (before == (count > 0)) return;
  const BytesPerSecond rate{work_per_second * (count > 0 ? 1.0 - slowdown_ : 1.0)};
  for (std::size_t stream = 0; stream < streams; ++stream)
    simulation_->set_capacity(stream_link(rank, stream), rate);
}

void Player::begin(std::uint32_t id) {
  const Task& task = graph_.tasks[id];
  replay_.timeline.start[id] = simulation_->now();
  if (slowdown_ > 0.0 && communicates(task)) {
    communicate(task.rank, 1);
    if (task.peer >= 0 && task.peer != task.rank) communicate(task.peer, 1);
  }
  if (traffic_.has(id)) {
    const std::vector<Flow>& flows = traffic_.patterns[traffic_.of_task[id]];
    parts_[id] = static_cast<std::uint32_t>(flows.size());
    for (const Flow& flow : flows) simulation_->start(flow, id);
  } else if (slowdown_ > 0.0 && task.kind == TaskKind::compute) {
    begin_compute(id);
  } else {
    simulation_->at(simulation_->now() + graph_.cost_of(id).duration, id);
  }
}

void Player::end_part(std::uint32_t id) {
  ++replay_.events;
  if (--parts_[id] == 0) end(id);
}

void Player::end(std::uint32_t id) {
  const Task& task = graph_.tasks[id];
  replay_.timeline.end[id] = simulation_->now();
  if (slowdown_ > 0.0 && communicates(task)) {
    communicate(task.rank, -1);
    if (task.peer >= 0 && task.peer != task.rank) communicate(task.peer, -1);
  }
  for (const std::uint32_t next : successors_.after(id))
    if (--missing_[next] == 0) begin(next);
}

Replay Player::play() {
  const auto count = static_cast<std::uint32_t>(graph_.tasks.size());
  for (std::uint32_t id = 0; id < count; ++id)
    missing_[id] = static_cast<std::uint32_t>(graph_.before(id).size());
  for (std::uint32_t id = 0; id < count; ++id)
    if (graph_.before(id).empty()) begin(id);
  simulation_->run([this](std::uint64_t tag) { end_part(static_cast<std::uint32_t>(tag)); });
  measure_makespan(graph_, replay_.timeline);
  replay_.links.assign(simulation_->links().begin(),
                       simulation_->links().begin() + static_cast<std::ptrdiff_t>(links_));
  return std::move(replay_);
}

void check(const TaskGraph& graph, const TrafficMap& traffic, const ReplayOptions& options) {
  FORETRAIN_REQUIRE(options.compute_slowdown >= 0.0 && options.compute_slowdown < 1.0);
  FORETRAIN_REQUIRE(traffic.of_task.empty() || traffic.of_task.size() == graph.tasks.size());
  for (const std::uint32_t pattern : traffic.of_task)
    FORETRAIN_REQUIRE(pattern == TrafficMap::none || pattern < traffic.patterns.size());
  for (const std::vector<Flow>& pattern : traffic.patterns) FORETRAIN_REQUIRE(!pattern.empty());
}

}  // namespace

Replay replay(const TaskGraph& graph, const FlowNetwork& network, const TrafficMap& traffic,
              const ReplayOptions& options) {
  check(graph, traffic, options);
  return Player{graph, network, traffic, options}.play();
}

}  // namespace foretrain
