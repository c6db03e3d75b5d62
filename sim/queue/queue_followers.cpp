// SPDX-License-Identifier: Apache-2.0
// Jobs of a list that follow others of it.
#include <cmath>

#include "sim/queue/internal/queue_engine.hpp"

namespace foretrain::internal {

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

}  // namespace foretrain::internal
