// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/max_min.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "models/base/require.hpp"

namespace foretrain {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double rounding = 1e-12;

}  // namespace

MaxMin::MaxMin(const FlowNetwork& network) : links_(network.links.size()) {
  for (std::size_t id = 0; id < links_.size(); ++id) {
    FORETRAIN_REQUIRE(network.links[id].value() > 0.0 && is_finite(network.links[id]));
    links_[id].capacity = network.links[id].value();
  }
}

double MaxMin::alone_rate(const Entry& entry) const {
  double rate = entry.most;
  for (const Use& use : entry.route) rate = std::min(rate, links_[use.link].capacity / use.share);
  return rate;
}

/// One flow alone can fill a link but never wants more, so a link binds only from the second on.
/// Sums that meet the capacity but for rounding leave everybody what it could use.
bool MaxMin::can_bind(const Link& link) {
  return link.members.size() > 1 && link.asked > link.capacity * (1.0 + rounding);
}

void MaxMin::touch(std::uint32_t link) {
  if (links_[link].dirty) return;
  links_[link].dirty = true;
  dirty_links_.push_back(link);
}

void MaxMin::add(std::uint32_t flow, const std::vector<Hop>& route, double weight,
                 double max_rate) {
  FORETRAIN_REQUIRE(!route.empty() && weight > 0.0 && std::isfinite(weight) && max_rate > 0.0);
  if (flow >= flows_.size()) flows_.resize(std::size_t{flow} + 1);
  Entry& entry = flows_[flow];
  FORETRAIN_REQUIRE(entry.route.empty());
  for (const Hop& use : route) {
    FORETRAIN_REQUIRE(use.link < links_.size() && use.share > 0.0 && std::isfinite(use.share));
    Link& link = links_[use.link];
    FORETRAIN_REQUIRE(link.members.empty() || link.members.back().flow != flow);
    link.members.push_back({flow, static_cast<std::uint32_t>(entry.route.size())});
    entry.route.push_back(
        {use.link, static_cast<std::uint32_t>(link.members.size() - 1), use.share});
  }
  entry.weight = weight;
  entry.most = max_rate;
  entry.alone = alone_rate(entry);
  entry.rate = 0.0;
  for (const Use& use : entry.route) {
    Link& link = links_[use.link];
    link.asked += use.share * entry.alone;
    if (link.binding || can_bind(link)) touch(use.link);
  }
  new_flows_.push_back(flow);
}

void MaxMin::remove(std::uint32_t flow) {
  Entry& entry = flows_[flow];
  FORETRAIN_REQUIRE(!entry.route.empty());
  for (const Use& use : entry.route) {
    Link& link = links_[use.link];
    const Member last = link.members.back();
    link.members[use.position] = last;
    flows_[last.flow].route[last.use].position = use.position;
    link.members.pop_back();
    // An empty link starts afresh, so that rounding cannot pile up.
    link.asked = link.members.empty() ? 0.0 : link.asked - use.share * entry.alone;
    // One that was not binding does not begin to be with fewer.
    if (link.binding) touch(use.link);
  }
  entry.route.clear();
  entry.rate = 0.0;
}

void MaxMin::set_capacity(std::uint32_t link, BytesPerSecond capacity) {
  FORETRAIN_REQUIRE(link < links_.size() && capacity.value() > 0.0 && is_finite(capacity));
  if (links_[link].capacity == capacity.value()) return;
  links_[link].capacity = capacity.value();
  touch(link);
  for (const Member& member : links_[link].members) {
    Entry& entry = flows_[member.flow];
    const double before = entry.alone;
    entry.alone = alone_rate(entry);
    for (const Use& use : entry.route) {
      links_[use.link].asked += use.share * (entry.alone - before);
      touch(use.link);
    }
    new_flows_.push_back(member.flow);
  }
}

void MaxMin::visit_flow(std::uint32_t flow) {
  Entry& entry = flows_[flow];
  if (entry.seen == solves_ || entry.route.empty()) return;
  entry.seen = solves_;
  entry.fixed = false;
  flows_found_.push_back(flow);
}

void MaxMin::visit_link(std::uint32_t id) {
  Link& link = links_[id];
  if (link.seen == solves_) return;
  link.seen = solves_;
  for (const Member& member : link.members) visit_flow(member.flow);
  if (link.binding) links_found_.push_back(id);
}

/// All flows whose rate may have changed, and the links that may limit them.
void MaxMin::collect() {
  ++solves_;
  flows_found_.clear();
  links_found_.clear();
  for (const std::uint32_t id : dirty_links_) {
    Link& link = links_[id];
    const bool was_binding = link.binding;
    link.binding = can_bind(link);
    link.dirty = false;
    if (was_binding || link.binding) visit_link(id);
  }
  for (const std::uint32_t flow : new_flows_) visit_flow(flow);
  dirty_links_.clear();
  new_flows_.clear();
  std::size_t next = 0;
  while (next < flows_found_.size()) {  // visits append to it
    const std::uint32_t flow = flows_found_[next++];
    for (const Use& use : flows_[flow].route)
      if (links_[use.link].binding) visit_link(use.link);
  }
}

void MaxMin::open_links() {
  levels_.clear();
  for (const std::uint32_t id : links_found_) {
    Link& link = links_[id];
    link.left = link.capacity;
    link.weight = 0.0;
    link.unfixed = static_cast<std::uint32_t>(link.members.size());
    for (const Member& member : link.members) {
      const Entry& entry = flows_[member.flow];
      link.weight += entry.route[member.use].share * entry.weight;
    }
    levels_.push_back({link.left / link.weight, id});
  }
  std::make_heap(levels_.begin(), levels_.end(), std::greater<>{});
}

void MaxMin::fix(std::uint32_t flow, double rate) {
  Entry& entry = flows_[flow];
  entry.fixed = true;
  if (entry.rate != rate) changed_.push_back(flow);
  entry.rate = rate;
  for (const Use& use : entry.route) {
    Link& link = links_[use.link];
    if (!link.binding) continue;
    link.left = std::max(link.left - use.share * rate, 0.0);
    link.weight -= use.share * entry.weight;
    --link.unfixed;
  }
}

/// Lowest level at which a link fills up, infinity if none has an unfixed flow. Fixing flows only
/// raises the level of other links, so what lies on the heap is a lower bound until looked at.
double MaxMin::next_link_level() {
  while (!levels_.empty()) {
    const Level top = levels_.front();
    const Link& link = links_[top.link];
    if (link.unfixed > 0) {
      const double level = link.weight > 0.0 ? link.left / link.weight : top.level;
      if (level <= top.level) return top.level;
      std::pop_heap(levels_.begin(), levels_.end(), std::greater<>{});
      levels_.back().level = level;
      std::push_heap(levels_.begin(), levels_.end(), std::greater<>{});
      continue;
    }
    std::pop_heap(levels_.begin(), levels_.end(), std::greater<>{});
    levels_.pop_back();
  }
  return infinity;
}

void MaxMin::fix_members(std::uint32_t link, double level) {
  for (const Member& member : links_[link].members) {
    const Entry& entry = flows_[member.flow];
    if (!entry.fixed) fix(member.flow, std::min(level * entry.weight, entry.alone));
  }
}

/// Water filling: the level rises until a link is full or a flow cannot use more.
void MaxMin::fill() {
  const auto limit = [this](std::uint32_t flow) {
    return flows_[flow].alone / flows_[flow].weight;
  };
  if (flows_found_.size() > 1)
    std::sort(flows_found_.begin(), flows_found_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return limit(a) != limit(b) ? limit(a) < limit(b) : a < b;
    });
  std::size_t next = 0;
  while (next < flows_found_.size()) {
    const std::uint32_t flow = flows_found_[next];
    if (flows_[flow].fixed) {
      ++next;
      continue;
    }
    const double level = next_link_level();
    if (limit(flow) <= level)
      fix(flow, flows_[flow].alone);
    else
      fix_members(levels_.front().link, level);
  }
}

const std::vector<std::uint32_t>& MaxMin::solve() {
  changed_.clear();
  if (dirty_links_.empty() && new_flows_.empty()) return changed_;
  collect();
  open_links();
  fill();
  return changed_;
}

}  // namespace foretrain
