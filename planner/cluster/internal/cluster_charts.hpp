// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/cluster/cluster_file.hpp"
#include "planner/text/palette.hpp"
#include "sim/queue/queue_study.hpp"

namespace foretrain::internal {

/// How classes are told apart: those with most host time have a colour each, the others one.
struct ClassLooks {
  std::vector<int> shown;      ///< classes with a colour of their own, in the order of the file
  std::vector<Paint> paints;   ///< by class
  std::vector<bool> together;  ///< by class: shares the colour of the others

  [[nodiscard]] bool has_others() const;
};

/// @param host_s host time by class
[[nodiscard]] ClassLooks class_looks(const std::vector<double>& host_s);

/// Waits by class on a logarithmic scale: median, mean, P90 and P99.
[[nodiscard]] Scene waits_chart(const ClusterFile& file, const QueueSummary& summary);

/// Hosts in use by class, and jobs on hosts, of one replication: for pages alone.
/// @pre the schedule is not empty
[[nodiscard]] AnswerSection schedule_section(const ClusterFile& file,
                                             const std::vector<ScheduledStretch>& schedule);

}  // namespace foretrain::internal
