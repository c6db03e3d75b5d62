// SPDX-License-Identifier: Apache-2.0
#include "sim/step/internal/graph_player.hpp"

#include <algorithm>
#include <utility>

#include "models/base/require.hpp"

namespace foretrain {
namespace {

constexpr std::uint64_t network_event = ~0ULL;  ///< tag
constexpr std::uint64_t tasks_per_report = 4096;
constexpr double time_rounding = 1e-12;

}  // namespace

GraphPlayer::GraphPlayer(const TaskGraph& graph, FlowSimulation& simulation, TrafficSource& traffic,
                         const ReplayOptions& options, std::uint64_t first_tag)
    : graph_{graph},
      traffic_{traffic},
      options_{options},
      count_{graph.tasks.size()},
      successors_{successors_of(graph)},
      simulation_{&simulation},
      first_tag_{first_tag} {
  const std::size_t all = count_ * static_cast<std::size_t>(options.replicas);
  start_.resize(all);
  end_.resize(all);
  missing_.resize(all);
}

void GraphPlayer::begin(Id id) {
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

void GraphPlayer::launch(Id leader, const TaskTraffic& use) {
  if (use.channel != TaskTraffic::none) return start_flows(leader, use);
  simulation_->at(simulation_->now() + duration(leader), first_tag_ + leader);
}

const std::shared_ptr<const GraphPlayer::Known>& GraphPlayer::known(std::uint32_t channel,
                                                                    int group) {
  if (channel >= known_.size()) known_.resize(std::size_t{channel} + 1);
  auto& groups = known_[channel];
  const auto place = static_cast<std::size_t>(group);
  if (place >= groups.size()) groups.resize(place + 1);
  if (groups[place] == nullptr) {
    auto made = std::make_shared<Known>();
    for (const Flow& flow : traffic_.flows(channel, group)) {
      made->flows.push_back(flow);
      Flow& kept = made->flows.back();
      if (options_.network_events != nullptr) made->routes.push_back(kept.route);
      if (kept.route.empty()) continue;
      kept.kept = simulation_->keep(kept.route);
      kept.route = {};
    }
    groups[place] = std::move(made);
  }
  return groups[place];
}

/// Routes have changed.
void GraphPlayer::forget_known() {
  for (const auto& groups : known_)
    for (const auto& one : groups)
      if (one != nullptr)
        for (const Flow& flow : one->flows)
          if (flow.kept != Flow::not_kept) simulation_->drop(flow.kept);
  known_.clear();
}

void GraphPlayer::start_flows(Id leader, const TaskTraffic& use) {
  const int group = replica_of(leader) / use.together;
  const std::shared_ptr<const Known>& of = known(use.channel, group);
  const std::vector<Flow>& flows = of->flows;
  traffic_.started(use.channel, group, simulation_->now());
  Seconds alone;
  Running* running = nullptr;
  if (flows.size() > 1 || options_.network_events != nullptr) {
    running = &running_[leader];
    running->left = static_cast<std::uint32_t>(flows.size());
  }
  for (std::uint32_t i = 0; i < flows.size(); ++i) {
    Flow flow = flows[i];
    flow.bytes *= use.amount;
    flow.latency += use.latency;
    const Seconds wire = flow.bytes > Bytes{} ? flow.bytes / flow.max_rate : Seconds{};
    alone = max(alone, flow.latency + wire);
    if (flow.kept == Flow::not_kept) {
      simulation_->at(simulation_->now() + flow.latency + wire, first_tag_ + leader);
      continue;
    }
    const FlowHandle handle = simulation_->start(flow, first_tag_ + leader);
    if (options_.network_events != nullptr) running->parts.push_back({handle, of, i, false});
  }
  end_[leader] = (simulation_->now() + alone).value();  // what end_all() compares with
}

void GraphPlayer::end_part(Id leader) {
  ++events_;
  if (const auto found = running_.find(leader); found != running_.end()) {
    if (--found->second.left > 0) return;
    running_.erase(found);
  }
  end_all(leader);
}

void GraphPlayer::end_all(Id leader) {
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

void GraphPlayer::end(Id id) {
  end_[id] = simulation_->now().value();
  if (++ended_ % tasks_per_report == 0) report();
  const Id first = id - task_of(id);
  for (const std::uint32_t next : successors_.after(task_of(id)))
    if (--missing_[first + next] == 0) begin(first + next);
}

void GraphPlayer::report() {
  if (options_.on_progress && !options_.on_progress({ended_, start_.size(), simulation_->now()}))
    throw Stopped{};
}

void GraphPlayer::await_network() {
  if (options_.network_events == nullptr) return;
  const Seconds next = options_.network_events->next();
  if (is_finite(next)) simulation_->at(max(next, simulation_->now()), network_event);
}

/// Flows that a dead link has caught go another way with what they have left; those that go round
/// something look for their way again.
void GraphPlayer::reroute(Id leader, Running& running) {
  const std::vector<bool>& down = options_.network_events->down();
  const TaskTraffic use = traffic_.of(task_of(leader));
  for (Part& part : running.parts) {
    bool dead = part.detoured;
    for (const Hop& hop : part.of->routes[part.index])
      dead = dead || (hop.link < down.size() && down[hop.link]);
    if (!dead) continue;
    const Bytes left = simulation_->stop(part.flow);
    if (left <= Bytes{}) continue;
    part.of = known(use.channel, replica_of(leader) / use.together);
    part.detoured = true;
    Flow flow = part.of->flows[part.index];
    flow.bytes = left;
    part.flow = simulation_->start(flow, first_tag_ + leader);
  }
}

void GraphPlayer::network_changes() {
  if (ended_ == start_.size()) return;
  if (options_.network_events->apply(*simulation_)) {
    forget_known();
    std::vector<Id> leaders;  // in an order that does not depend on the map
    for (const auto& [leader, running] : running_) leaders.push_back(leader);
    std::ranges::sort(leaders);
    for (const Id leader : leaders) reroute(leader, running_[leader]);
  }
  await_network();
}

Replay GraphPlayer::result() const {
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

void GraphPlayer::start() {
  FORETRAIN_REQUIRE(arrived_.empty() && running_.empty());
  ended_ = 0;
  for (int replica = 0; replica < options_.replicas; ++replica)
    for (std::uint32_t task = 0; task < count_; ++task)
      missing_[id_of(replica, task)] = static_cast<std::uint16_t>(graph_.before(task).size());
  NetworkEvents* const events = options_.network_events;
  if (events != nullptr && events->next() <= simulation_->now()) events->apply(*simulation_);
  await_network();
  for (int replica = 0; replica < options_.replicas; ++replica)
    for (std::uint32_t task = 0; task < count_; ++task)
      if (graph_.before(task).empty()) begin(id_of(replica, task));
}

void GraphPlayer::on_event(std::uint64_t tag) {
  if (tag == network_event) return network_changes();
  if (tag == background_flow) return;
  const bool before = over();
  end_part(tag - first_tag_);
  if (over() && !before && options_.network_events != nullptr)
    options_.network_events->finish(*simulation_);
}

}  // namespace foretrain
