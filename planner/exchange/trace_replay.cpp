// SPDX-License-Identifier: Apache-2.0
#include "planner/exchange/trace_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "models/collectives/price.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "sim/collectives/collective_run.hpp"
#include "sim/flows/shared_links.hpp"
#include "topologies/fabrics/clos.hpp"
#include "topologies/fabrics/placement.hpp"

namespace foretrain {
namespace {

/// A node of one rank.
struct Place {
  int rank = 0;
  std::size_t node = 0;
};

/// What is played as one: a node, a send with its receive, a collective of all its members.
struct Event {
  std::vector<Place> places;
  std::vector<std::size_t> before;  ///< events, by the trace
};

std::size_t at(int i) { return static_cast<std::size_t>(i); }

bool is_point_to_point(const TraceNode& node) {
  return node.kind == TraceNodeKind::send || node.kind == TraceNodeKind::receive;
}
bool is_communication(const TraceNode& node) {
  return is_point_to_point(node) || node.kind == TraceNodeKind::collective;
}

/// Puts the nodes of all ranks together into events, in an order in which they can run.
class Matcher {
 public:
  explicit Matcher(const ExecutionTrace& trace) : trace_{trace} {}

  std::vector<Event> match() {
    event_of_.resize(trace_.ranks.size());
    for (std::size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
      event_of_[rank].assign(trace_.ranks[rank].nodes.size(), 0);
      add_rank(static_cast<int>(rank));
    }
    check_pairs();
    check_groups();
    link();
    return ordered();
  }

  [[nodiscard]] const TraceNode& node(const Place& place) const {
    return trace_.ranks[at(place.rank)].nodes[place.node];
  }
  [[nodiscard]] const TraceNode& first(const Event& event) const {
    return node(event.places.front());
  }

 private:
  using PairKey = std::tuple<int, int, int, std::size_t>;  ///< from, to, tag, count
  using GroupKey = std::pair<std::string, std::size_t>;    ///< name, count

  [[noreturn]] void refuse(const Place& place, const std::string& message) const {
    throw ScenarioError(
        {{fmt::format("rank {}", place.rank),
          0,
          0,
          {},
          fmt::format("node {} {} {}", node(place).id, in_quotes(node(place).name), message)}});
  }

  void add_rank(int rank) {
    const auto& nodes = trace_.ranks[at(rank)].nodes;
    std::vector<std::size_t> order(nodes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return std::pair{nodes[a].start.value(), nodes[a].id} <
             std::pair{nodes[b].start.value(), nodes[b].id};
    });
    std::map<std::tuple<int, int, int>, std::size_t> pair_count;
    std::map<std::string, std::size_t> group_count;
    for (const std::size_t i : order) {
      const TraceNode& one = nodes[i];
      const Place place{rank, i};
      std::size_t event = events_.size();
      if (is_point_to_point(one)) {
        const bool send = one.kind == TraceNodeKind::send;
        if (one.peer == rank || one.peer >= static_cast<int>(trace_.ranks.size()))
          refuse(place, fmt::format("names rank {} as its peer; there are {} ranks", one.peer,
                                    trace_.ranks.size()));
        const int from = send ? rank : one.peer;
        const int to = send ? one.peer : rank;
        // Sends and receives are counted apart: the k-th of both are one.
        const std::size_t count = pair_count[{send ? from : -1 - from, to, one.tag}]++;
        event = pairs_.emplace(PairKey{from, to, one.tag, count}, event).first->second;
      } else if (one.kind == TraceNodeKind::collective) {
        event = groups_.emplace(GroupKey{one.group, group_count[one.group]++}, event).first->second;
      }
      if (event == events_.size()) events_.emplace_back();
      events_[event].places.push_back(place);
      event_of_[at(rank)][i] = event;
    }
    for (const auto& [name, count] : group_count) members_[name].push_back({rank, count});
  }

  void check_pairs() const {
    for (const auto& [key, event] : pairs_) {
      const auto& places = events_[event].places;
      if (places.size() != 2)
        refuse(places.front(),
               fmt::format("has no {} with tag {} at rank {}",
                           node(places.front()).kind == TraceNodeKind::send ? "receive" : "send",
                           std::get<2>(key), node(places.front()).peer));
    }
  }

  void check_groups() const {
    for (const auto& [key, event] : groups_) {
      const auto& places = events_[event].places;
      const auto& members = members_.at(key.first);
      for (const auto& [rank, count] : members)
        if (count <= key.second)
          refuse(places.front(),
                 fmt::format("is number {} of group {}, of which rank {} has {}; all members must "
                             "take part",
                             key.second + 1, in_quotes(key.first), rank, count));
      for (const Place& place : places)
        if (node(place).op != node(places.front()).op ||
            node(place).bytes != node(places.front()).bytes)
          refuse(place, fmt::format("does not agree with node {} of rank {} on what is done with "
                                    "how many bytes",
                                    node(places.front()).id, places.front().rank));
    }
  }

  void link() {
    for (std::size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
      const auto& nodes = trace_.ranks[rank].nodes;
      std::unordered_map<std::uint64_t, std::size_t> by_id;
      for (std::size_t i = 0; i < nodes.size(); ++i) by_id.emplace(nodes[i].id, i);
      for (std::size_t i = 0; i < nodes.size(); ++i)
        for (const std::uint64_t id : nodes[i].waits_for)
          events_[event_of_[rank][i]].before.push_back(event_of_[rank][by_id.at(id)]);
    }
  }

  /// Kahn's algorithm; of the events that could run, the one recorded first.
  std::vector<Event> ordered() {
    std::vector<std::size_t> missing(events_.size(), 0);
    std::vector<std::vector<std::size_t>> after(events_.size());
    for (std::size_t i = 0; i < events_.size(); ++i) {
      auto& before = events_[i].before;
      std::ranges::sort(before);
      before.erase(std::unique(before.begin(), before.end()), before.end());
      missing[i] = before.size();
      for (const std::size_t earlier : before) after[earlier].push_back(i);
    }
    using Key = std::tuple<double, std::uint64_t, std::size_t>;
    std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
    const auto push = [&](std::size_t i) {
      ready.push({first(events_[i]).start.value(), first(events_[i]).id, i});
    };
    for (std::size_t i = 0; i < events_.size(); ++i)
      if (missing[i] == 0) push(i);
    std::vector<std::size_t> position(events_.size(), 0);
    std::vector<Event> order;
    order.reserve(events_.size());
    while (!ready.empty()) {
      const std::size_t next = std::get<2>(ready.top());
      ready.pop();
      position[next] = order.size();
      order.push_back(events_[next]);
      for (const std::size_t follower : after[next])
        if (--missing[follower] == 0) push(follower);
    }
    if (order.size() != events_.size()) {
      std::size_t stuck = 0;
      while (missing[stuck] == 0) ++stuck;
      refuse(events_[stuck].places.front(),
             "waits, perhaps through other ranks, for something that waits for it");
    }
    for (Event& event : order)
      for (std::size_t& earlier : event.before) earlier = position[earlier];
    return order;
  }

  const ExecutionTrace& trace_;
  std::vector<Event> events_;
  std::vector<std::vector<std::size_t>> event_of_;  ///< by rank and node
  std::map<PairKey, std::size_t> pairs_;
  std::map<GroupKey, std::size_t> groups_;
  std::map<std::string, std::vector<std::pair<int, std::size_t>>> members_;
};

/// The machine that a trace is played on.
struct Machine {
  Cluster cluster;
  Fabric fabric;
  FlowNetwork network;
  std::vector<int> gpu;  ///< by rank
};

std::variant<Machine, Infeasible> machine_of(const Job& job, int ranks) {
  Machine machine;
  machine.cluster = job.cluster;
  if (auto refused = size_network(machine.cluster, job.cluster.network.switch_radix))
    return *refused;
  auto built = build_fabric(striped(fabric_spec(machine.cluster)));
  if (auto* refused = std::get_if<Infeasible>(&built)) return *refused;
  machine.fabric = std::move(std::get<Fabric>(built));
  machine.cluster.network.contended = false;
  if (auto refused = too_small(machine.fabric, ranks)) return *refused;
  const Simulation& simulation = job.simulation;
  auto placed = place_ranks(machine.fabric, {ranks, simulation.placement, simulation.seed,
                                             simulation.occupied, machine.cluster.segment_hosts()});
  if (auto* refused = std::get_if<Infeasible>(&placed)) return *refused;
  machine.gpu = std::move(std::get<std::vector<int>>(placed));
  machine.network = achievable_links(machine.fabric, machine.cluster, job.device_profile);
  return machine;
}

/// Bytes as the cost model counts them: the whole buffer of a gather, of which a rank puts in its
/// part.
Bytes payload_of(const TraceNode& node, int members) {
  if (node.barrier) return Bytes{4.0};
  const bool gathers = node.op == CollectiveOp::all_gather || node.op == CollectiveOp::gather;
  return gathers && node.kind == TraceNodeKind::collective ? node.bytes * members : node.bytes;
}

/// Turns events into calls of the collective engine: whatever takes a fixed time is a call without
/// a phase.
class CallBuilder {
 public:
  CallBuilder(const Job& job, const Machine& machine, const Matcher& matcher,
              const TraceReplayOptions& options)
      : job_{job}, machine_{machine}, matcher_{matcher}, options_{options} {}

  std::vector<CollectiveCall> build(const std::vector<Event>& events) {
    std::vector<CollectiveCall> calls;
    calls.reserve(events.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      calls.push_back(call(events[i]));
      serialise(events[i], i, calls.back());
    }
    return calls;
  }

 private:
  CollectiveCall call(const Event& event) {
    const TraceNode& node = matcher_.first(event);
    CollectiveCall result;
    result.blocking = false;
    result.waits_for = event.before;
    std::vector<int> ranks;
    for (const Place& place : event.places) ranks.push_back(place.rank);
    std::ranges::sort(ranks);
    // A send goes from the first of its two seats.
    if (is_point_to_point(node) &&
        (node.kind == TraceNodeKind::send) != (event.places.front().rank == ranks.front()))
      std::ranges::reverse(ranks);
    std::vector<int> gpus;
    for (const int rank : ranks) gpus.push_back(machine_.gpu[at(rank)]);
    result.seats = seats_of(std::move(gpus), machine_.fabric.spec.packing());
    if (is_communication(node) && !options_.recorded) {
      price(node, result);
    } else {
      for (const Place& place : event.places)
        result.price.before = max(result.price.before, matcher_.node(place).duration);
    }
    return result;
  }

  void price(const TraceNode& node, CollectiveCall& result) const {
    result.op = is_point_to_point(node) ? CollectiveOp::send : node.op;
    result.payload = payload_of(node, result.seats.size());
    if (result.seats.size() < 2 || result.payload <= Bytes{}) return;
    const CollectivePath path{machine_.cluster, job_.device_profile, job_.site};
    PricedCollective priced =
        nccl_price({result.op, result.seats, 0}, result.payload, path, CollectiveWish{});
    if (!priced.refusal.empty())
      throw UsageError(fmt::format("{} over {} ranks: {}", name_of(result.op), result.seats.size(),
                                   priced.refusal));
    result.price = std::move(priced.price);
  }

  void serialise(const Event& event, std::size_t index, CollectiveCall& result) {
    const auto follow = [&](std::size_t& last) {
      if (last != none) result.waits_for.push_back(last);
      last = index;
    };
    const TraceNode& node = matcher_.first(event);
    if (node.kind == TraceNodeKind::compute)
      follow(
          last_of_rank_.try_emplace({event.places.front().rank, node.on_cpu}, none).first->second);
    if (node.kind == TraceNodeKind::collective)
      follow(last_of_group_.try_emplace(node.group, none).first->second);
  }

  static constexpr std::size_t none = ~std::size_t{0};
  const Job& job_;
  const Machine& machine_;
  const Matcher& matcher_;
  const TraceReplayOptions& options_;
  std::map<std::pair<int, bool>, std::size_t> last_of_rank_;
  std::map<std::string, std::size_t> last_of_group_;
};

std::vector<BusyLink> busiest(const Machine& machine, const CollectiveRun& run, Seconds time) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t link = 0; link < run.links.size(); ++link)
    if (run.links[link].bytes > Bytes{})
      order.emplace_back(-(run.links[link].bytes / (machine.network.links[link] * time)), link);
  std::ranges::sort(order);
  std::vector<BusyLink> links;
  for (std::size_t i = 0; i < std::min<std::size_t>(10, order.size()); ++i) {
    const LinkRecord& record = run.links[order[i].second];
    links.push_back({link_name(machine.fabric, static_cast<LinkId>(order[i].second)), record.bytes,
                     record.busy / time, -order[i].first});
  }
  return links;
}

}  // namespace

std::variant<TraceReplay, Infeasible> replay_trace(const Scenario& scenario,
                                                   const ExecutionTrace& trace,
                                                   const TraceReplayOptions& options) {
  const Job& job = scenario.job;
  if (job.communication.backend != Backend::nccl && !options.recorded)
    throw UsageError("a trace is priced by NCCL's cost model; the scenario says backend: " +
                     std::string(name_of(job.communication.backend)));
  const auto placed = machine_of(job, static_cast<int>(trace.ranks.size()));
  if (const auto* refused = std::get_if<Infeasible>(&placed)) return *refused;
  const auto& machine = std::get<Machine>(placed);
  Matcher matcher(trace);
  const std::vector<Event> events = matcher.match();
  const auto calls = CallBuilder(job, machine, matcher, options).build(events);
  CollectiveSetting setting{machine.fabric, machine.network};
  setting.seed = job.simulation.seed;
  setting.routing = job.simulation.routing;
  setting.connections = job.simulation.connections;
  const auto played = run_collectives(setting, calls);
  if (const auto* refused = std::get_if<Infeasible>(&played)) return *refused;
  const auto& run = std::get<CollectiveRun>(played);

  TraceReplay replay;
  replay.recorded = options.recorded;
  replay.flows = run.flows;
  replay.notes = trace.notes;
  replay.ranks.resize(trace.ranks.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    const bool exchange = is_communication(matcher.first(events[i]));
    replay.nodes += events[i].places.size();
    replay.exchanges += exchange ? 1 : 0;
    replay.time = max(replay.time, run.end[i]);
    for (const Place& place : events[i].places) {
      RankUse& use = replay.ranks[at(place.rank)];
      use.end = max(use.end, run.end[i]);
      const TraceNode& node = matcher.node(place);
      if (exchange) use.communication += run.end[i] - run.start[i];
      if (node.kind == TraceNodeKind::compute && !node.on_cpu) use.compute += node.duration;
    }
  }
  if (replay.time > Seconds{}) replay.links = busiest(machine, run, replay.time);
  return replay;
}

}  // namespace foretrain
