// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/queue/queue_run.hpp"

namespace foretrain::internal {

/// What the cluster is doing at an instant.
struct QueueState {
  int waiting_jobs = 0;
  std::int64_t waiting_hosts = 0;
  int allocated = 0;  ///< hosts
  int down = 0;
};

/// Books of one replication: integrals over time, clipped to the counted stretch and to the bins.
class QueueTally {
 public:
  QueueTally(const QueueModel& model, const QueueRunOptions& options);

  /// The state held from `from` to `to`.
  void held(const QueueState& state, double from, double to);
  /// Seconds of [from, to) between warm-up and horizon.
  [[nodiscard]] double counted(double from, double to) const;
  [[nodiscard]] bool counts(double time) const { return time >= warm_up_ && time < horizon_; }

  [[nodiscard]] QueueSample& sample() { return sample_; }
  [[nodiscard]] QueueSample finish();

 private:
  void add_to_bins(const QueueState& state, double from, double to);

  QueueSample sample_;
  double warm_up_;
  double horizon_;
  double bin_s_;
};

}  // namespace foretrain::internal
