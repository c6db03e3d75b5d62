// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "sim/queue/queue_run.hpp"

namespace foretrain::internal {

/// A stretch of time, in seconds.
struct ClusterWindow {
  double from = 0.0;
  double to = 0.0;

  [[nodiscard]] double length() const { return to - from; }
};

/// A job on hosts beside each other. A job has several bars where no such hosts were free.
struct ClusterBar {
  std::size_t stretch = 0;  ///< index in the schedule
  int first = 0;            ///< lowest host
  int hosts = 0;
};

/// The whole of `within` where no more than `most` stretches lie in it, else as much around the
/// time at which most jobs wait; around its middle where none does.
[[nodiscard]] ClusterWindow shown_window(const std::vector<ScheduledStretch>& schedule,
                                         const ClusterWindow& within, std::size_t most);

/// The jobs of the window on numbered hosts: each on the lowest ones beside each other that are
/// free, else on the lowest. A simulation keeps how many hosts of a leaf a job has, not which.
/// @param hosts of the cluster; the schedule uses no more at a time
[[nodiscard]] std::vector<ClusterBar> placed_bars(const std::vector<ScheduledStretch>& schedule,
                                                  const ClusterWindow& window, int hosts);

/// Mean hosts in use in equal parts of the window, by class and part.
[[nodiscard]] std::vector<std::vector<double>> hosts_by_class(
    const std::vector<ScheduledStretch>& schedule, std::size_t classes, const ClusterWindow& window,
    std::size_t parts);

}  // namespace foretrain::internal
