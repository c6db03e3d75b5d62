// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "planner/cli/answer_output.hpp"
#include "planner/cli/command.hpp"
#include "planner/cluster/cluster_file.hpp"
#include "sim/queue/queue_study.hpp"

namespace foretrain {

/// What asks for a queue: `cluster` and `solve FILE hosts`.
struct ClusterRunOptions {
  ScenarioOptions scenario;
  std::optional<int> replications;
  int threads = 0;
  std::string hosts;      ///< list of numbers, or empty
  std::string wait;       ///< a goal, or empty
  std::string deadlines;  ///< a goal, or empty
  AnswerOutput output;
};

/// The file, or standard input where that is "-". @throws ScenarioError, UsageError
[[nodiscard]] ClusterFile read_cluster(const ScenarioOptions& options);

[[nodiscard]] QueueStudyOptions queue_study_options(const ClusterRunOptions& options,
                                                    const ClusterFile& file);

/// Waits by number of hosts: those of options.hosts, or the fewest that keep options.wait
/// or options.deadlines.
/// @return an exit code: 3 where no number of hosts does
/// @pre one of the three is given
[[nodiscard]] int show_hosts(const ClusterRunOptions& options);

}  // namespace foretrain
