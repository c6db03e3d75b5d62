// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/max_min.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"

namespace foretrain {
namespace {

constexpr double rounding = 1e-12;

}  // namespace

MaxMin::MaxMin(const FlowNetwork& network)
    : loads_(network.links.size()), links_(network.links.size()) {
  for (std::size_t id = 0; id < links_.size(); ++id) {
    FORETRAIN_REQUIRE(network.links[id].value() > 0.0 && is_finite(network.links[id]));
    links_[id].capacity = network.links[id].value();
    loads_[id].most = links_[id].capacity * (1.0 + rounding);
  }
}

void MaxMin::touch(std::uint32_t link) {
  if (links_[link].dirty) return;
  links_[link].dirty = true;
  dirty_links_.push_back(link);
}

void MaxMin::bound_route(Route& route) const {
  route.bound = unlimited;
  for (const Use& use : route.uses)
    route.bound = std::min(route.bound, links_[use.link].capacity / use.share);
}

MaxMin::RouteId MaxMin::add_route(std::span<const Hop> route) {
  FORETRAIN_REQUIRE(!route.empty());
  for (const Hop& use : route)
    FORETRAIN_REQUIRE(use.link < links_.size() && use.share > 0.0 && std::isfinite(use.share));
  RouteId id = 0;
  if (free_routes_.empty()) {
    id = static_cast<RouteId>(routes_.size());
    routes_.emplace_back();
  } else {
    id = free_routes_.back();
    free_routes_.pop_back();
  }
  Route& kept = routes_[id];
  kept.kept = true;
  kept.uses.reserve(route.size());
  for (const Hop& use : route) {
    std::vector<User>& users = links_[use.link].users;
    const bool twice = !users.empty() && users.back().route == id;
    if (twice) remove_route(id);
    FORETRAIN_REQUIRE(!twice);
    users.push_back({id, static_cast<std::uint32_t>(kept.uses.size())});
    kept.uses.push_back({use.link, static_cast<std::uint32_t>(users.size() - 1), use.share});
  }
  bound_route(kept);
  return id;
}

void MaxMin::remove_route(RouteId id) {
  Route& route = routes_[id];
  FORETRAIN_REQUIRE(route.kept && route.first == none);
  for (const Use& use : route.uses) {
    std::vector<User>& users = links_[use.link].users;
    const User last = users.back();
    users[use.position] = last;
    routes_[last.route].uses[last.use].position = use.position;
    users.pop_back();
  }
  route.uses.clear();
  route.kept = false;
  free_routes_.push_back(id);
}

/// Puts a flow at the head of its route's chain.
void MaxMin::join(std::uint32_t flow) {
  Entry& entry = flows_[flow];
  Route& route = routes_[entry.route];
  entry.last = none;
  entry.next = route.first;
  if (entry.next != none) flows_[entry.next].last = flow;
  route.first = flow;
}

void MaxMin::leave(std::uint32_t flow) {
  const Entry& entry = flows_[flow];
  if (entry.next != none) flows_[entry.next].last = entry.last;
  if (entry.last != none)
    flows_[entry.last].next = entry.next;
  else
    routes_[entry.route].first = entry.next;
}

void MaxMin::sum_up(std::uint32_t link) {
  double used = 0.0;
  for_each_flow(link, [&](std::uint32_t flow, std::uint32_t use) {
    used += routes_[flows_[flow].route].uses[use].share * flows_[flow].rate;
  });
  loads_[link].used = used;
  links_[link].summed = solves_;
}

/// What the links know of a flow. Those that are too full then, if only until other flows have
/// less, are crowded.
void MaxMin::set_rate(Entry& entry, double rate) {
  const double more = rate - entry.rate;
  entry.rate = rate;
  for (const Use& use : routes_[entry.route].uses) {
    Load& load = loads_[use.link];
    load.used += use.share * more;
    if (load.used > load.most) crowded_.push_back(use.link);
  }
}

void MaxMin::make_critical(std::uint32_t link) {
  loads_[link].critical = true;
  links_[link].idle = 0;
  for_each_flow(
      link, [&](std::uint32_t flow, std::uint32_t use) { flows_[flow].critical.push_back(use); });
}

/// @return whether links that are too full became critical
bool MaxMin::admit_crowded() {
  bool any = false;
  for (const std::uint32_t link : crowded_) {
    const Load& load = loads_[link];
    if (load.critical || load.used <= load.most) continue;
    sum_up(link);
    if (load.used <= load.most) continue;
    make_critical(link);
    any = true;
  }
  crowded_.clear();
  return any;
}

/// A critical link that has limited nobody for long.
void MaxMin::forget(std::uint32_t link) {
  loads_[link].critical = false;
  for_each_flow(link, [&](std::uint32_t flow, std::uint32_t use) {
    std::vector<std::uint32_t>& uses = flows_[flow].critical;
    *std::ranges::find(uses, use) = uses.back();
    uses.pop_back();
  });
}

/// A flow starts with what its links would give it alone; that is too much only where one of them
/// becomes too full.
void MaxMin::add(std::uint32_t flow, RouteId route, double weight, double max_rate) {
  FORETRAIN_REQUIRE(route < routes_.size() && routes_[route].kept);
  FORETRAIN_REQUIRE(weight > 0.0 && std::isfinite(weight) && max_rate > 0.0);
  if (flow >= flows_.size()) flows_.resize(std::size_t{flow} + 1);
  Entry& entry = flows_[flow];
  FORETRAIN_REQUIRE(entry.route == none);
  entry.route = route;
  entry.own_route = false;
  entry.weight = weight;
  entry.most = max_rate;
  entry.alone = std::min(max_rate, routes_[route].bound);
  entry.rate = entry.alone;
  entry.before = 0.0;
  entry.limit = none;
  entry.critical.clear();
  const std::vector<Use>& uses = routes_[route].uses;
  for (std::uint32_t i = 0; i < uses.size(); ++i) {
    Load& load = loads_[uses[i].link];
    load.used += uses[i].share * entry.alone;
    ++load.flows;
    if (load.critical)
      entry.critical.push_back(i);
    else if (load.used > load.most)
      crowded_.push_back(uses[i].link);
  }
  join(flow);
  ++under_way_;
  new_flows_.push_back(flow);
}

void MaxMin::add(std::uint32_t flow, const std::vector<Hop>& route, double weight,
                 double max_rate) {
  FORETRAIN_REQUIRE(weight > 0.0 && std::isfinite(weight) && max_rate > 0.0);
  add(flow, add_route(route), weight, max_rate);
  flows_[flow].own_route = true;
}

void MaxMin::remove(std::uint32_t flow) {
  Entry& entry = flows_[flow];
  FORETRAIN_REQUIRE(entry.route != none);
  leave(flow);
  --under_way_;
  if (entry.limit != none) --links_[entry.limit].limited;
  const std::vector<Use>& uses = routes_[entry.route].uses;
  for (const std::uint32_t i : entry.critical)
    if (links_[uses[i].link].limited > 0) touch(uses[i].link);
  for (const Use& use : uses) {
    Load& load = loads_[use.link];
    if (--load.flows > 0) {
      load.used -= use.share * entry.rate;
    } else {  // an empty link starts afresh
      load.used = 0.0;
      load.critical = false;
    }
  }
  if (entry.own_route) remove_route(entry.route);
  entry.route = none;
  entry.rate = 0.0;
}

/// All flows on the link are solved again, whatever limits them.
void MaxMin::set_capacity(std::uint32_t link, BytesPerSecond capacity) {
  FORETRAIN_REQUIRE(link < links_.size() && capacity.value() > 0.0 && is_finite(capacity));
  if (links_[link].capacity == capacity.value()) return;
  links_[link].capacity = capacity.value();
  loads_[link].most = capacity.value() * (1.0 + rounding);
  if (loads_[link].used > loads_[link].most) crowded_.push_back(link);
  for (const User& user : links_[link].users) bound_route(routes_[user.route]);
  for_each_flow(link, [&](std::uint32_t flow, std::uint32_t /*use*/) {
    flows_[flow].alone = std::min(flows_[flow].most, routes_[flows_[flow].route].bound);
    new_flows_.push_back(flow);
  });
}

}  // namespace foretrain
