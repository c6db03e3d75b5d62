// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>

#include "sim/flows/max_min.hpp"

namespace foretrain {
namespace {

/// Levels and loads that differ by less are one: far above what rounding leaves in sums, far below
/// what anyone reads off a result.
constexpr double tolerance = 1e-11;
constexpr std::uint64_t solves_per_sum = 256;  ///< so that rounding of loads cannot pile up
constexpr std::uint32_t most_idle = 16;

}  // namespace

void MaxMin::include(std::uint32_t flow) {
  Entry& entry = flows_[flow];
  if (entry.seen == solves_ || entry.route == none) return;
  entry.seen = solves_;
  flows_found_.push_back(flow);
}

void MaxMin::include_limited(std::uint32_t link) {
  for_each_flow(link, [&](std::uint32_t flow, std::uint32_t /*use*/) {
    if (flows_[flow].limit == link) include(flow);
  });
}

/// The flows that a change limits or frees by itself.
void MaxMin::collect() {
  ++solves_;
  flows_found_.clear();
  for (const std::uint32_t link : dirty_links_) {
    links_[link].dirty = false;
    if (links_[link].limited > 0) include_limited(link);
  }
  for (const std::uint32_t flow : new_flows_) include(flow);
  dirty_links_.clear();
  new_flows_.clear();
}

/// All flows that critical links connect to these.
void MaxMin::include_connected() {
  ++trials_;
  // The list grows meanwhile.
  for (std::size_t next = 0; next < flows_found_.size();
       ++next) {  // NOLINT(modernize-loop-convert)
    const Entry& entry = flows_[flows_found_[next]];
    for (const std::uint32_t i : entry.critical) {
      const std::uint32_t link = routes_[entry.route].uses[i].link;
      if (links_[link].seen == trials_) continue;
      links_[link].seen = trials_;
      for_each_flow(link, [&](std::uint32_t flow, std::uint32_t /*use*/) { include(flow); });
    }
  }
}

void MaxMin::open(const Entry& entry, const Use& use) {
  Link& link = links_[use.link];
  if (link.seen != trials_) {
    link.seen = trials_;
    if (link.summed + solves_per_sum < solves_) sum_up(use.link);
    link.left = link.capacity - loads_[use.link].used;
    link.weight = 0.0;
    link.top = 0.0;
    link.unfixed = 0;
    link.inside = 0;
    links_found_.push_back(use.link);
  }
  link.left += use.share * entry.rate;
  link.weight += use.share * entry.weight;
  ++link.unfixed;
  if (entry.limit == use.link) ++link.inside;
}

/// What the others leave of every link.
void MaxMin::open_links() {
  ++trials_;
  links_found_.clear();
  levels_.clear();
  full_.clear();
  for (const std::uint32_t flow : flows_found_) {
    Entry& entry = flows_[flow];
    entry.fixed = false;
    const std::vector<Use>& uses = routes_[entry.route].uses;
    for (const std::uint32_t i : entry.critical) open(entry, uses[i]);
  }
  for (const std::uint32_t id : links_found_) {
    links_[id].left = std::max(links_[id].left, 0.0);
    levels_.push_back({links_[id].left / links_[id].weight, id});
  }
  std::make_heap(levels_.begin(), levels_.end(), std::greater<>{});
}

void MaxMin::fix(std::uint32_t flow, double rate, std::uint32_t limit) {
  Entry& entry = flows_[flow];
  entry.fixed = true;
  entry.trial = rate;
  entry.trial_limit = limit;
  const double level = rate / entry.weight;
  const std::vector<Use>& uses = routes_[entry.route].uses;
  for (const std::uint32_t i : entry.critical) {
    Link& link = links_[uses[i].link];
    link.left = std::max(link.left - uses[i].share * rate, 0.0);
    link.weight -= uses[i].share * entry.weight;
    link.top = std::max(link.top, level);
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
  return unlimited;
}

void MaxMin::fix_members(std::uint32_t link, double level) {
  full_.push_back({level, link});
  for_each_flow(link, [&](std::uint32_t flow, std::uint32_t /*use*/) {
    const Entry& entry = flows_[flow];
    if (entry.seen != solves_ || entry.fixed) return;
    const double fair = level * entry.weight;
    fix(flow, std::min(fair, entry.alone), fair < entry.alone ? link : none);
  });
}

/// Water filling: the level rises until a link is full or a flow cannot use more.
void MaxMin::fill() {
  const auto limit = [this](std::uint32_t flow) {
    return flows_[flow].alone / flows_[flow].weight;
  };
  order_ = flows_found_;
  std::ranges::sort(order_, [&](std::uint32_t a, std::uint32_t b) {
    return limit(a) != limit(b) ? limit(a) < limit(b) : a < b;
  });
  std::size_t next = 0;
  while (next < order_.size()) {
    const std::uint32_t flow = order_[next];
    if (flows_[flow].fixed) {
      ++next;
      continue;
    }
    const double level = next_link_level();
    if (limit(flow) <= level)
      fix(flow, flows_[flow].alone, none);
    else
      fix_members(levels_.front().link, level);
  }
}

/// Tells the links what was found.
void MaxMin::apply() {
  for (const std::uint32_t flow : flows_found_) {
    Entry& entry = flows_[flow];
    if (entry.trial != entry.rate) set_rate(entry, entry.trial);
  }
}

/// Includes others for which the definition does not hold any more.
void MaxMin::check() {
  for (const auto& [level, link] : full_)  // others have more of it
    for_each_flow(link, [&, most = level * (1.0 + tolerance)](std::uint32_t flow, std::uint32_t) {
      const Entry& entry = flows_[flow];
      if (entry.seen != solves_ && entry.rate > most * entry.weight) include(flow);
    });
  for (const std::uint32_t id : links_found_) {  // it limits others that could now have more
    const Link& link = links_[id];
    if (link.limited == link.inside) continue;
    if (link.left > tolerance * link.capacity || link.top > link.level * (1.0 + tolerance))
      include_limited(id);
  }
}

void MaxMin::finish() {
  for (const auto& [level, link] : full_) links_[link].level = level;
  for (const std::uint32_t flow : flows_found_) {
    Entry& entry = flows_[flow];
    if (entry.limit != none) --links_[entry.limit].limited;
    if (entry.trial_limit != none) ++links_[entry.trial_limit].limited;
    entry.limit = entry.trial_limit;
    if (entry.rate != entry.before) changed_.push_back(flow);
    entry.before = entry.rate;
  }
  for (const std::uint32_t link : links_found_) {
    links_[link].idle = links_[link].limited > 0 ? 0 : links_[link].idle + 1;
    if (links_[link].idle > most_idle) forget(link);
  }
}

const std::vector<std::uint32_t>& MaxMin::solve() {
  changed_.clear();
  if (dirty_links_.empty() && new_flows_.empty()) return changed_;
  collect();
  admit_crowded();
  std::size_t tried = 0;  // flows, each as often as it was solved
  for (;;) {
    const std::size_t solved = flows_found_.size();
    open_links();
    fill();
    apply();
    const bool more_links = admit_crowded();
    check();
    if (!more_links && flows_found_.size() == solved) break;
    // By now solving all that links connect takes no longer.
    tried += solved;
    if (tried > under_way_) include_connected();
  }
  finish();
  return changed_;
}

}  // namespace foretrain
