// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/cli/command.hpp"

namespace foretrain {

/// `cluster fit TRACE`: a workload model of a log of jobs.
[[nodiscard]] Command add_cluster_fit(CLI::App& cluster);

}  // namespace foretrain
