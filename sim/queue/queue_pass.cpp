// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>

#include "sim/queue/internal/queue_engine.hpp"

namespace foretrain::internal {
namespace {

/// Points of a profile that take as long to read as one job in the queue.
constexpr std::int64_t points_of_effort = 4;

}  // namespace

/// Waiting jobs start in their order; those that cannot start get reservations, as many as the kind
/// of backfill allows.
void QueueEngine::pass() {
  do {
    pass_due_ = has_profile_ = held_back_ = false;
    reserved_ = 0;
    unplaced_.clear();
    arrived_.clear();
    pass_time_ = now_;
    if (state_.waiting_jobs == 0) return;
    // Nothing that waits is small enough: what must wait is found out when that changes.
    if (!model_.policy.preempt && waiting_sizes_.begin()->first > pool_.free()) return;
    rank_teams();
    int looked_at = 0;
    for (const std::size_t team : team_order_) {
      if (!pass_over(waiting_[team], looked_at)) break;
    }
  } while (pass_due_);  // preemption put jobs back into the queue
}

/// @return whether the pass continues with the next list
bool QueueEngine::pass_over(WaitingList& list, int& looked_at) {
  for (auto place = list.begin(); place != list.end();) {
    const WaitingKey waiting = *place++;
    ++tally_.sample().effort;
    if (quota_holds(jobs_[waiting.slot])) continue;
    if (++looked_at > model_.policy.depth && held_back_) return false;
    if (try_start(waiting.slot)) {
      if (pass_due_) return false;
      continue;
    }
    hold_back(waiting);
    if (model_.policy.backfill->reservations == 0 || pool_.free() == 0) return false;
  }
  return true;
}

/// The job must wait. Its reservation is made when a job behind it asks for the profile.
void QueueEngine::hold_back(const WaitingKey& waiting) {
  last_waiting_ = waiting;
  held_back_ = true;
  if (reserved_ >= model_.policy.backfill->reservations) return;
  unplaced_.emplace_back(waiting.slot, now_);
  ++reserved_;
}

/// Reservations of the jobs that were held back, in their order, as of then: until something ends
/// the profile has no points between then and now.
void QueueEngine::make_reservations() {
  if (!has_profile_) build_profile();
  for (const auto& [slot, time] : unplaced_) reserve(jobs_[slot], time);
  unplaced_.clear();
}

/// Nothing but arrivals happened: what was held back stays so, and only the new jobs are looked at,
/// unless one comes before the last of those.
void QueueEngine::look_at_arrivals() {
  const bool all = model_.policy.order->by_team || !held_back_ || model_.policy.preempt ||
                   std::ranges::any_of(arrived_, [this](std::uint32_t slot) {
                     return WaitingKey{jobs_[slot].key, jobs_[slot].number, slot} < last_waiting_;
                   });
  if (all) {
    pass();
    return;
  }
  const int reservations = model_.policy.backfill->reservations;
  for (const std::uint32_t slot : arrived_) {
    if (reservations == 0 || state_.waiting_jobs > model_.policy.depth) break;
    if (quota_holds(jobs_[slot]) || try_start(slot)) continue;
    hold_back({jobs_[slot].key, jobs_[slot].number, slot});
  }
  arrived_.clear();
}

bool QueueEngine::try_start(std::uint32_t slot) {
  QueueJob& waiting = jobs_[slot];
  bool can = can_start_in_a_size(waiting);
  if (can && !unplaced_.empty()) {
    make_reservations();  // they only take hosts away: who cannot start without them cannot at all
    can = can_start_in_a_size(waiting);
  }
  if (!can && (held_back_ || !model_.policy.preempt || !preempt_for(waiting))) return false;
  begin(slot);
  if (has_profile_) {
    const int others = std::max(0, waiting.hosts - own_hosts_left(waiting));
    profile_.take(others, now_, waiting.ends_by - now_);
  }
  return true;
}

/// Of a moldable job the largest size that can start is given to it, else the smallest.
bool QueueEngine::can_start_in_a_size(QueueJob& waiting) {
  const std::vector<MoldableSize>& sizes = class_of(waiting).moldable;
  if (sizes.empty() || waiting.started) return can_start(waiting);
  int most = model_.policy.molding->most_hosts({pool_.free(), state_.waiting_jobs});
  if (const auto& quota = model_.teams[team_of(waiting)].quota)
    most = std::min(most, *quota - team_hosts_[team_of(waiting)]);
  for (std::size_t i = sizes.size(); i-- > 1;) {
    if (sizes[i].hosts > most) continue;
    give_size(waiting, i);
    if (can_start(waiting)) return true;
  }
  give_size(waiting, 0);
  return can_start(waiting);
}

bool QueueEngine::quota_holds(const QueueJob& waiting) const {
  const QueueTeam& team = model_.teams[team_of(waiting)];
  return team.quota && team_hosts_[team_of(waiting)] + waiting.hosts > *team.quota;
}

bool QueueEngine::can_start(const QueueJob& waiting) {
  if (!pool_.holds(waiting.hosts, class_of(waiting).within_leaf)) return false;
  if (!blocks_let(waiting)) return false;
  if (!has_profile_) return true;
  const int others = std::max(0, waiting.hosts - own_hosts_left(waiting));
  return profile_.fits(others, now_, waiting.limit - waiting.kept);
}

/// Sets hosts aside for a job at the first time at which they are free for as long as its limit.
void QueueEngine::reserve(const QueueJob& waiting, double from) {
  const double lasts = waiting.limit - waiting.kept;
  tally_.sample().effort += static_cast<std::int64_t>(by_end_.size()) / points_of_effort;
  const double start = profile_.earliest(waiting.hosts, from, lasts);
  if (std::isfinite(start)) profile_.take(waiting.hosts, start, lasts);
}

void QueueEngine::build_profile() {
  std::vector<std::pair<double, int>> changes;
  changes.reserve(by_end_.size());
  for (const auto& [end, slot] : by_end_)
    changes.emplace_back(std::max(end, pass_time_), jobs_[slot].hosts);
  add_blocks(changes, pass_time_);
  tally_.sample().effort += static_cast<std::int64_t>(changes.size());
  profile_ = FreeProfile(pass_time_, pool_.free(), changes);
  has_profile_ = true;
}

/// Teams by usage over share, then by hosts in use over share.
void QueueEngine::rank_teams() {
  if (!model_.policy.order->by_team) return;
  std::ranges::stable_sort(team_order_, [this](std::size_t a, std::size_t b) {
    const double share_a = model_.teams[a].share;
    const double share_b = model_.teams[b].share;
    const double used_a = usage_[a] / share_a;
    const double used_b = usage_[b] / share_b;
    return used_a != used_b ? used_a < used_b : team_hosts_[a] / share_a < team_hosts_[b] / share_b;
  });
}

QueueTally::QueueTally(const QueueModel& model, const QueueRunOptions& options)
    : warm_up_{model.warm_up.value()},
      horizon_{model.horizon.value()},
      bin_s_{model.horizon.value() / options.bins} {
  sample_.classes.resize(model.classes.size());
  for (std::size_t i = 0; i < model.classes.size(); ++i)
    sample_.classes[i].sizes.assign(model.classes[i].moldable.size(), 0);
  sample_.team_host_s.assign(model.teams.size(), 0.0);
  sample_.team_rented_s.assign(model.teams.size(), 0.0);
  sample_.bins.resize(static_cast<std::size_t>(options.bins));
}

double QueueTally::counted(double from, double to) const {
  return std::max(0.0, std::min(to, horizon_) - std::max(from, warm_up_));
}

void QueueTally::held(const QueueState& state, double from, double to) {
  if (to <= from) return;
  if (const double time = counted(from, to); time > 0.0) {
    sample_.hosts.allocated += time * state.allocated;
    sample_.hosts.down += time * state.down;
    sample_.waiting_job_s += time * state.waiting_jobs;
    sample_.longest_queue = std::max(sample_.longest_queue, state.waiting_jobs);
  }
  if (to > 0.0 && from < horizon_) add_to_bins(state, std::max(0.0, from), std::min(to, horizon_));
}

void QueueTally::add_to_bins(const QueueState& state, double from, double to) {
  const std::size_t last = sample_.bins.size() - 1;
  for (auto bin = std::min(last, static_cast<std::size_t>(from / bin_s_)); from < to; ++bin) {
    const double end = bin == last ? to : std::min(to, static_cast<double>(bin + 1) * bin_s_);
    const double share = std::max(0.0, end - from) / bin_s_;
    QueueBin& into = sample_.bins[bin];
    into.waiting_jobs += share * state.waiting_jobs;
    into.waiting_hosts += share * static_cast<double>(state.waiting_hosts);
    into.allocated += share * state.allocated;
    into.down += share * state.down;
    from = end;
    if (bin == last) break;
  }
}

QueueSample QueueTally::finish() { return std::move(sample_); }

}  // namespace foretrain::internal
