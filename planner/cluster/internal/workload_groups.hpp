// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "planner/cluster/workload_fit.hpp"

namespace foretrain::internal {

/// Jobs that become one class.
struct JobGroup {
  std::string name;
  std::string team;               ///< empty: none
  std::vector<std::size_t> jobs;  ///< indices of LoggedJobs::jobs
};

/// The classes of a log, by team, queue and size. Sizes are 1, 2 to 3, 4 to 7 hosts and so on.
/// @param ran jobs that count. @pre not empty
/// @throws UsageError where the request asks for what the log does not tell
[[nodiscard]] std::vector<JobGroup> job_groups(const LoggedJobs& log,
                                               const std::vector<std::size_t>& ran,
                                               const WorkloadFitRequest& request);

}  // namespace foretrain::internal
