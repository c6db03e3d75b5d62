// SPDX-License-Identifier: Apache-2.0
#include "sim/step/internal/disturbances.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <string>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

constexpr double endless = 1e9;         // seconds of traffic that is stopped long before
constexpr double stands_still = 1e-12;  // of the rate of a link that is lost: rates are above 0

bool loses_links(DisturbanceKind kind) {
  return kind == DisturbanceKind::link_down || kind == DisturbanceKind::node_down ||
         kind == DisturbanceKind::nic_flap;
}

/// Traffic that is not the step's.
bool sends(DisturbanceKind kind) {
  return kind == DisturbanceKind::background || kind == DisturbanceKind::checkpoint ||
         kind == DisturbanceKind::input;
}

/// Another job's load of a cable, not from host to host.
bool loads_cable(const Disturbance& what) {
  return what.kind == DisturbanceKind::background && what.to.empty();
}

/// "12" or "host12"; -1 for anything else.
int host_number(std::string_view text) {
  if (text.starts_with("host")) text.remove_prefix(4);
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : -1;
}

Infeasible refusal(const std::string& message, const std::string& remedy) {
  return {"unknown-disturbance", "simulation.disturbances", message, remedy};
}

std::optional<Infeasible> refuse_host(const Fabric& fabric, const std::string& name) {
  const int host = host_number(name);
  if (host >= 0 && host < fabric.spec.hosts) return std::nullopt;
  return refusal("there is no host '" + name + "'",
                 "hosts are 0 to " + std::to_string(fabric.spec.hosts - 1));
}

std::optional<Infeasible> refuse_numbers(const Disturbance& what) {
  const std::string kind{name_of(what.kind)};
  if (what.factor <= 0.0 || what.factor > 1.0)
    return refusal(kind + " " + what.target + ": what is left is above 0 and at most 1",
                   "use a factor such as 0.8");
  if (what.jitter < 0.0 || what.from < Seconds{} || what.lasts < Seconds{})
    return refusal(kind + " " + what.target + ": times and jitter are not negative", "");
  if (what.kind == DisturbanceKind::nic_flap &&
      (what.lasts <= Seconds{} || what.period <= what.lasts))
    return refusal(kind + " " + what.target + ": it is down for a part of its period",
                   "give lasts, and a period that is longer");
  if (what.kind == DisturbanceKind::background && what.rate <= BytesPerSecond{})
    return refusal(kind + " " + what.target + ": traffic needs a rate", "");
  return std::nullopt;
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), so that equal seeds draw equal numbers anywhere.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// Above 0, below 1.
double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11U) + 0.5) * 0x1p-53; }

/// Normal with mean 0 and deviation 1 (Box and Muller 1958).
double normal(std::uint64_t seed, std::uint64_t what) {
  const std::uint64_t first = mixed(seed ^ mixed(what));
  return std::sqrt(-2.0 * std::log(uniform(first))) *
         std::cos(2.0 * std::numbers::pi * uniform(mixed(first)));
}

bool active(const Disturbance& what, Seconds now) {
  return now >= what.from && (what.lasts <= Seconds{} || now < what.from + what.lasts);
}

}  // namespace

std::optional<Infeasible> refuse_disturbances(const Fabric& fabric, const Simulation& simulation) {
  for (const Disturbance& what : simulation.disturbances) {
    if (auto refused = refuse_numbers(what)) return refused;
    if (names_hosts(what.kind) && !loads_cable(what)) {
      if (auto refused = refuse_host(fabric, what.target)) return refused;
      if (!sends(what.kind) || what.to.empty()) continue;
      if (auto refused = refuse_host(fabric, what.to)) return refused;
      if (what.kind == DisturbanceKind::background &&
          host_number(what.to) == host_number(what.target))
        return refusal("background traffic from host " + what.target + " to itself",
                       "name two hosts");
    } else if (const auto lost = failed_links(fabric, {what.target});
               const auto* refused = std::get_if<Infeasible>(&lost)) {
      return *refused;
    }
  }
  return std::nullopt;
}

bool disturbs_network(const Simulation& simulation) {
  return std::ranges::any_of(simulation.disturbances, [](const Disturbance& what) {
    return what.kind != DisturbanceKind::straggler;
  });
}

NetworkDisturbances::NetworkDisturbances(const Fabric& fabric, const Simulation& simulation,
                                         StorageTraffics storage,
                                         const std::vector<double>& capacity, StepTraffic& traffic)
    : fabric_{fabric},
      simulation_{simulation},
      storage_{std::move(storage)},
      capacity_{capacity},
      traffic_{traffic},
      losses_(index(fabric.links())),
      avoided_(index(fabric.links())),
      factor_(index(fabric.links()), 1.0),
      down_(index(fabric.links()), false) {
  for (const Disturbance& what : simulation.disturbances) {
    if (what.kind == DisturbanceKind::straggler) continue;
    Switch one;
    one.what = &what;
    one.next = what.from;
    if (!names_hosts(what.kind) || loads_cable(what))
      one.links = std::get<LinkSet>(failed_links(fabric, {what.target}));
    switches_.push_back(std::move(one));
  }
}

Seconds NetworkDisturbances::next() {
  Seconds next{std::numeric_limits<double>::infinity()};
  for (const Switch& one : switches_) {
    next = min(next, one.next);
    if (one.on && !one.rerouted && loses_links(one.what->kind)) next = min(next, one.reroutes);
  }
  return next;
}

void NetworkDisturbances::set_links(const Switch& one, FlowSimulation& simulation) {
  for (LinkId link = 0; link < fabric_.links(); ++link) {
    const std::size_t i = index(link);
    if (!one.links[i]) continue;
    if (loses_links(one.what->kind))
      losses_[i] += one.on ? 1 : -1;
    else
      factor_[i] *= one.on ? one.what->factor : 1.0 / one.what->factor;
    const bool waits = losses_[i] > 0 && simulation_.rerouting > Seconds{};
    const double left = waits ? stands_still : factor_[i];
    simulation.set_capacity(static_cast<std::uint32_t>(link), BytesPerSecond{capacity_[i] * left});
  }
}

void NetworkDisturbances::route_round(Switch& one, bool round) {
  one.rerouted = round;
  for (std::size_t i = 0; i < one.links.size(); ++i) {
    if (!one.links[i]) continue;
    avoided_[i] += round ? 1 : -1;
    down_[i] = avoided_[i] > 0;
  }
}

/// What is lost when the step begins, routes have gone round before. Later on all that would cross
/// it stands still until they do. A link that comes back is used at once.
void NetworkDisturbances::lose_links(Switch& one, FlowSimulation& simulation) {
  set_links(one, simulation);
  const bool before = one.turned_on <= Seconds{};
  if (one.on)
    one.reroutes = one.turned_on + (before ? Seconds{} : simulation_.rerouting.value_or(Seconds{}));
  else if (one.rerouted)
    route_round(one, false);
}

/// All NICs of a host are used alike: another job's from one host to another, a checkpoint's from
/// every host of the job to those that store, in turn, input's the other way.
std::vector<NetworkDisturbances::Stream> NetworkDisturbances::streams_of(
    const Disturbance& what) const {
  const HostShape& host = fabric_.spec.host;
  const int nics = std::max(1, std::min(host.nics, host.gpus));
  const bool background = what.kind == DisturbanceKind::background;
  const bool reads = what.kind == DisturbanceKind::input;
  const StorageTraffic& storage = reads ? storage_.read : storage_.written;
  const int first = host_number(background ? what.to : what.target);
  const int stores = background || what.to.empty() ? 1 : host_number(what.to) - first + 1;
  const std::vector<int> own =
      background ? std::vector<int>{host_number(what.target)} : storage.hosts;
  const double flows = static_cast<double>(own.size()) * nics;
  const BytesPerSecond rate = (what.rate > BytesPerSecond{} ? what.rate : storage.rate) / flows;
  const Bytes bytes = background ? rate * Seconds{endless} : storage.bytes / flows;
  std::vector<Stream> streams;
  for (std::size_t i = 0; i < own.size(); ++i)
    for (int nic = 0; nic < nics; ++nic) {
      const int gpu = nic * host.gpus / nics;
      int from = own[i] * host.gpus + gpu;
      int to = (first + static_cast<int>(i) % stores) * host.gpus + gpu;
      if (reads) std::swap(from, to);
      streams.push_back({from, to, std::nullopt, rate, bytes, {}, {}});
    }
  return streams;
}

/// The rate on each of the links, whatever way it came.
std::vector<NetworkDisturbances::Stream> NetworkDisturbances::loads_of(const Switch& one) {
  std::vector<Stream> streams;
  const Bytes bytes = one.what->rate * Seconds{endless};
  for (std::size_t link = 0; link < one.links.size(); ++link)
    if (one.links[link])
      streams.push_back({0, 0, static_cast<LinkId>(link), one.what->rate, bytes, {}, {}});
  return streams;
}

void NetworkDisturbances::start_streams(Switch& one, FlowSimulation& simulation) {
  RouteChoice choice;
  choice.seed = simulation_.seed;
  choice.flow = flows_between_hosts(fabric_, RoutingKind::ecmp, simulation_.connections);
  choice.down = &down_;
  for (Stream& stream : one.streams) {
    if (stream.left <= Bytes{}) continue;
    ++choice.flow;  // none of the job's own
    if (stream.only)
      stream.way = {*stream.only};
    else if (!route(fabric_, stream.from, stream.to, choice, stream.way))
      continue;  // it has to wait
    Flow flow;
    for (const LinkId link : stream.way) flow.route.push_back({static_cast<std::uint32_t>(link)});
    flow.max_rate = stream.rate;
    flow.bytes = stream.left;
    stream.flow = simulation.start(flow, background_flow);
  }
}

void NetworkDisturbances::stop_streams(Switch& one, FlowSimulation& simulation) {
  for (Stream& stream : one.streams)
    if (!stream.way.empty()) {
      stream.left = simulation.stop(stream.flow);
      stream.way.clear();
    }
}

void NetworkDisturbances::change_routes(FlowSimulation& simulation) {
  const bool whole = std::ranges::none_of(down_, [](bool lost) { return lost; });
  traffic_.set_down(whole ? nullptr : &down_);
  for (Switch& one : switches_) {
    if (!one.on) continue;
    stop_streams(one, simulation);
    start_streams(one, simulation);
  }
}

void NetworkDisturbances::turn(Switch& one, FlowSimulation& simulation) {
  const Disturbance& what = *one.what;
  const Seconds never{std::numeric_limits<double>::infinity()};
  one.on = !one.on;
  if (one.on) {
    one.turned_on = one.next;
    one.next = what.lasts > Seconds{} ? one.next + what.lasts : never;
  } else {
    one.next = what.kind == DisturbanceKind::nic_flap ? one.turned_on + what.period : never;
  }
  if (loses_links(what.kind)) {
    lose_links(one, simulation);
  } else if (!sends(what.kind)) {
    set_links(one, simulation);
  } else if (one.on) {
    one.streams = loads_cable(what) ? loads_of(one) : streams_of(what);
    start_streams(one, simulation);
  } else {
    stop_streams(one, simulation);
    one.streams.clear();
  }
}

bool NetworkDisturbances::apply(FlowSimulation& simulation) {
  bool routes_changed = false;
  for (Switch& one : switches_) {
    const bool loses = loses_links(one.what->kind);
    const bool was_rerouted = one.rerouted;
    if (one.next <= simulation.now()) turn(one, simulation);
    if (loses && one.on && !one.rerouted && one.reroutes <= simulation.now())
      route_round(one, true);
    // Also where a link comes back before routes went round it: flows of its own stood still.
    routes_changed = routes_changed || one.rerouted != was_rerouted;
  }
  if (routes_changed) change_routes(simulation);
  return routes_changed;
}

void NetworkDisturbances::finish(FlowSimulation& simulation) {
  for (Switch& one : switches_) stop_streams(one, simulation);
}

double NetworkDisturbances::input_left() const {
  Bytes left, all;
  for (const Switch& one : switches_) {
    if (one.what->kind != DisturbanceKind::input) continue;
    all += storage_.read.bytes;
    if (!one.on) left += storage_.read.bytes;  // it never began
    for (const Stream& stream : one.streams) left += stream.left;
  }
  return all > Bytes{} ? left / all : 0.0;
}

Stragglers::Stragglers(const Fabric& fabric, const Simulation& simulation, const RankMap& ranks,
                       const TaskGraph& graph)
    : simulation_{simulation}, graph_{graph} {
  const int replicas = ranks.stage / ranks.replica;
  at_.resize(index(replicas) * index(graph.ranks));
  for (const Disturbance& what : simulation.disturbances) {
    if (what.kind != DisturbanceKind::straggler) continue;
    const int host = host_number(what.target);
    for (int stage = 0; stage < graph.ranks; ++stage)
      for (int number = 0; number < ranks.stage; ++number) {
        if (ranks.at(stage, number) / fabric.spec.host.gpus != host) continue;
        auto& slow = at_[index(number / ranks.replica) * index(graph.ranks) + index(stage)];
        if (slow.empty() || slow.back() != &what) slow.push_back(&what);
        any_ = true;
      }
  }
}

Seconds Stragglers::duration(int replica, std::uint32_t task, Seconds now) const {
  const TaskCost& cost = graph_.cost_of(task);
  const Task& what = graph_.tasks[task];
  if (what.kind != TaskKind::compute) return cost.duration;
  const auto& slow = at_[index(replica) * index(graph_.ranks) + index(what.rank)];
  // Exchanges inside a pass are not the host's; tasks without parts are all compute.
  const bool whole = cost.parts.total() <= Seconds{};
  const Seconds compute = whole ? cost.duration : cost.parts.compute + cost.parts.recompute;
  Seconds longest = compute;
  for (const Disturbance* one : slow) {
    if (!active(*one, now)) continue;
    const std::uint64_t draw = static_cast<std::uint64_t>(replica) << 32U | task;
    const double jitter = one->jitter > 0.0 ? one->jitter * normal(simulation_.seed, draw) : 0.0;
    longest = max(longest, std::max(0.0, 1.0 + jitter) / one->factor * compute);
  }
  return cost.duration + (longest - compute);
}

}  // namespace foretrain
