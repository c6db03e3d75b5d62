// SPDX-License-Identifier: Apache-2.0
#include "sim/queue/internal/queue_engine.hpp"

#include <algorithm>

namespace foretrain::internal {

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
