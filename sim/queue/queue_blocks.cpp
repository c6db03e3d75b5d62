// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "sim/queue/internal/queue_engine.hpp"

namespace foretrain::internal {
namespace {

/// Occurrences of a repeated block that are looked at ahead.
constexpr int most_ahead = 64;

/// Start of the first occurrence that ends after `time`; infinite where there is none.
double next_start(const QueueBlock& block, double time) {
  const double from = block.from.value();
  const double lasts = block.lasts.value();
  if (time < from + lasts) return from;
  if (!(block.every > Seconds{})) return INFINITY;
  const double every = block.every.value();
  double start = from + std::floor((time - from) / every) * every;
  if (start + lasts <= time) start += every;
  return start;
}

bool holds_at(const QueueBlock& block, double time) {
  const double start = next_start(block, time);
  return start <= time;
}

}  // namespace

/// A job that follows another one is submitted when that has ended, and waits from then on.
bool QueueEngine::waits_for_another(std::size_t job_class, const DrawnJob& drawn) {
  if (!drawn.after) return false;
  const double from = ended_at_[job_class][*drawn.after] + drawn.think;
  if (from <= now_) return false;
  if (std::isfinite(from))
    release_at(from, job_class, drawn);
  else
    followers_[{job_class, *drawn.after}].push_back(drawn);
  return true;
}

void QueueEngine::release_at(double time, std::size_t job_class, const DrawnJob& drawn) {
  push(time, QueueEventKind::release, static_cast<std::uint32_t>(released_.size()));
  released_.emplace_back(job_class, drawn);
}

void QueueEngine::let_followers_go(const QueueJob& ended, double end) {
  const auto job_class = static_cast<std::size_t>(ended.job_class);
  if (ended_at_[job_class].empty()) return;
  ended_at_[job_class][ended.place] = end;
  const auto found = followers_.find({job_class, ended.place});
  if (found == followers_.end()) return;
  for (const DrawnJob& follower : found->second)
    release_at(end + follower.think, job_class, follower);
  followers_.erase(found);
}

/// Hosts that running jobs still have at `time` by their limits; of one team, or of all (-1).
int QueueEngine::used_at(double time, int team) const {
  int used = 0;
  for (auto place = by_end_.rbegin(); place != by_end_.rend() && place->first > time; ++place) {
    const QueueJob& running = jobs_[place->second];
    if (team < 0 || class_of(running).team == team) used += running.hosts;
  }
  return used;
}

/// Hosts that the block keeps from others: of a team's, those that it does not use itself.
int QueueEngine::claim_at(const QueueBlock& block, double time) const {
  if (!block.team) return block.hosts;
  return std::max(0, block.hosts - used_at(time, *block.team));
}

/// Starts of occurrences after now and before `until`; behind all running jobs one of them stands
/// for all.
std::vector<double> QueueEngine::starts_within(const QueueBlock& block, double until) const {
  std::vector<double> starts;
  const double busy_until = by_end_.empty() ? now_ : by_end_.back().first;
  for (double start = next_start(block, now_);
       start < until && static_cast<int>(starts.size()) < most_ahead;) {
    if (start > now_) starts.push_back(start);
    if (start > busy_until) break;
    start = next_start(block, start + block.lasts.value());
  }
  return starts;
}

/// Whether the job, run to its limit, leaves every block its hosts.
bool QueueEngine::blocks_let(const QueueJob& waiting) const {
  if (model_.blocks.empty()) return true;
  const double until = now_ + waiting.limit - waiting.kept;
  std::vector<double> times{now_};
  for (const QueueBlock& block : model_.blocks)
    for (const double start : starts_within(block, until)) times.push_back(start);
  const int up = pool_.free() + state_.allocated;
  return std::ranges::all_of(times, [&](double time) {
    int claimed = 0;
    for (const QueueBlock& block : model_.blocks)
      if (holds_at(block, time) && block.team != class_of(waiting).team)
        claimed += claim_at(block, time);
    return up - (time > now_ ? used_at(time, -1) : state_.allocated) - claimed >= waiting.hosts;
  });
}

/// Hosts set aside now for the job's team that it does not use yet, where the job ends in time.
int QueueEngine::own_hosts_left(const QueueJob& waiting) const {
  int left = 0;
  for (const QueueBlock& block : model_.blocks) {
    const double start = next_start(block, now_);
    const bool in_it = start <= now_ && now_ + waiting.limit <= start + block.lasts.value();
    if (block.team == class_of(waiting).team && in_it)
      left += std::max(0, block.hosts - team_hosts_[team_of(waiting)]);
  }
  return left;
}

/// Blocks as others than their teams see them, for a profile that begins at `from`.
void QueueEngine::add_blocks(std::vector<std::pair<double, int>>& changes, double from) const {
  for (const QueueBlock& block : model_.blocks) {
    const double lasts = block.lasts.value();
    double start = next_start(block, from);
    for (int i = 0; i < most_ahead && std::isfinite(start); ++i) {
      const int claim = claim_at(block, std::max(start, from));
      changes.emplace_back(std::max(start, from), -claim);
      changes.emplace_back(start + lasts, claim);
      start = next_start(block, start + lasts);
    }
  }
}

/// The queue is looked at when a block begins and when it ends.
void QueueEngine::push_edge(std::size_t block, double after) {
  const QueueBlock& of = model_.blocks[block];
  const double start = next_start(of, after);
  if (!std::isfinite(start)) return;
  const double edge = start > after ? start : start + of.lasts.value();
  push(edge, QueueEventKind::edge, static_cast<std::uint32_t>(block));
}

}  // namespace foretrain::internal
