// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "sim/queue/internal/queue_engine.hpp"

namespace foretrain::internal {
namespace {

/// Subject of a repair whose host becomes a spare.
constexpr std::uint32_t to_spares = ~0U;

}  // namespace

/// Time to the next failure of any host in service.
void QueueEngine::push_failure() {
  if (!(model_.failures.every > Seconds{})) return;
  const Seconds mean = model_.failures.every / static_cast<double>(model_.hosts);
  push(now_ + failures_.exponential(mean), QueueEventKind::failure, 0);
}

/// Any of the cluster's hosts may be the one; one that is under repair cannot fail.
void QueueEngine::on_failure() {
  push_failure();
  auto index = static_cast<int>(failures_.below(static_cast<std::size_t>(model_.hosts)));
  if (tally_.counts(now_) && index < model_.hosts - state_.down) ++tally_.sample().failures;
  for (const auto& entry : by_end_) {
    const std::uint32_t slot = entry.second;
    index -= jobs_[slot].hosts;
    if (index < 0) {
      fail_host_of(slot);
      return;
    }
  }
  if (index < pool_.free()) fail_idle_host();
}

void QueueEngine::fail_idle_host() {
  const double repaired = now_ + failures_.exponential(model_.failures.repair);
  if (spares_ > 0) {
    --spares_;
    push(repaired, QueueEventKind::repair, to_spares);
    return;
  }
  auto index = static_cast<int>(failures_.below(static_cast<std::size_t>(pool_.free())));
  std::size_t leaf = 0;
  while ((index -= pool_.free_on(leaf)) >= 0) ++leaf;
  pool_.take_one(leaf);
  ++state_.down;
  pass_due_ = true;
  push(repaired, QueueEventKind::repair, static_cast<std::uint32_t>(leaf));
}

/// A spare or an idle host takes the failed one's place, and the job restarts there; without
/// either it goes back into the queue.
void QueueEngine::fail_host_of(std::uint32_t slot) {
  const double repaired = now_ + failures_.exponential(model_.failures.repair);
  if (tally_.counts(now_)) ++tally_.sample().interrupted;
  QueueJob& hit = jobs_[slot];
  auto index = static_cast<int>(failures_.below(static_cast<std::size_t>(hit.hosts)));
  std::size_t place = 0;
  while ((index -= hit.places[place].hosts) >= 0) ++place;
  const std::size_t leaf = hit.places[place].leaf;
  if (spares_ > 0) {
    --spares_;
    push(repaired, QueueEventKind::repair, to_spares);
    interrupt(slot);
    return;
  }
  push(repaired, QueueEventKind::repair, static_cast<std::uint32_t>(leaf));
  ++state_.down;
  const bool stays = pool_.free_on(leaf) > 0 || (pool_.free() > 0 && !class_of(hit).within_leaf);
  if (!stays) {
    stop_and_requeue(slot);
    pool_.take_one(leaf);
    return;
  }
  if (pool_.free_on(leaf) > 0) {
    pool_.take_one(leaf);
  } else {
    const std::size_t other = pool_.freest();
    pool_.take_one(other);
    --hit.places[place].hosts;
    hit.places.push_back({other, 1});
  }
  interrupt(slot);
}

void QueueEngine::on_repair(std::uint32_t leaf) {
  if (leaf == to_spares) {
    ++spares_;
    return;
  }
  --state_.down;
  pool_.give_one(leaf);
  pass_due_ = true;
}

/// The job loses what it did since its last checkpoint and restarts on the hosts it has.
void QueueEngine::interrupt(std::uint32_t slot) {
  QueueJob& hit = jobs_[slot];
  const QueueClass& jobs = class_of(hit);
  const double ran = std::max(0.0, now_ - hit.begun - hit.restart);
  const double every = jobs.checkpoint_every.value();
  const double kept = every > 0.0 ? std::floor(ran / every) * every : 0.0;
  account(hit, kept, false);
  hit.kept += kept;
  erase_running(slot);
  hit.restart = jobs.restart.value();
  schedule_end(slot);
  pass_due_ = true;
}

void QueueEngine::stop_and_requeue(std::uint32_t slot) {
  interrupt(slot);
  release(slot);
  ++jobs_[slot].stretch;
  enqueue(slot);
}

/// Stops preemptible jobs of lower priority, the least important and youngest first, where that
/// makes room. @return whether it did
bool QueueEngine::preempt_for(const QueueJob& wanting) {
  const double priority = class_of(wanting).priority;
  std::vector<std::uint32_t> victims;
  for (const auto& entry : by_end_) {
    const QueueClass& jobs = class_of(jobs_[entry.second]);
    if (jobs.preemptible && jobs.priority < priority) victims.push_back(entry.second);
  }
  std::ranges::sort(victims, [this](std::uint32_t a, std::uint32_t b) {
    const double first = class_of(jobs_[a]).priority;
    const double second = class_of(jobs_[b]).priority;
    if (first != second) return first < second;
    return jobs_[a].begun != jobs_[b].begun ? jobs_[a].begun > jobs_[b].begun
                                            : jobs_[a].number > jobs_[b].number;
  });
  int freed = pool_.free();
  std::size_t needed = 0;
  while (needed < victims.size() && freed < wanting.hosts) freed += jobs_[victims[needed++]].hosts;
  if (freed < wanting.hosts || class_of(wanting).within_leaf) return false;
  for (std::size_t i = 0; i < needed; ++i) {
    if (tally_.counts(now_)) ++tally_.sample().preempted;
    stop_and_requeue(victims[i]);
  }
  return needed > 0;
}

}  // namespace foretrain::internal
