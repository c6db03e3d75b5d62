// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/answer/value_rows.hpp"
#include "planner/cluster/cluster_file.hpp"
#include "sim/queue/queue_study.hpp"

namespace foretrain {

/// What is to be kept: a wait, "P90 <= 4 h", "mean <= 30 min", "vision-runs P50 <= 1 h", or a share
/// of deadlines that are met, "95 %", "vision-runs 95 %".
struct QueueGoal {
  std::string job_class;  ///< empty: all jobs
  std::string statistic;  ///< of waits mean, p50, p90 or p99; deadlines
  Seconds most{};         ///< wait
  double least = 0.0;     ///< share of deadlines, above 0 and at most 1

  [[nodiscard]] bool is_deadlines() const { return statistic == "deadlines"; }
  [[nodiscard]] std::string text() const;
};

/// @throws UsageError for another text, prefixed by `where`
[[nodiscard]] QueueGoal wait_goal(const std::string& where, const std::string& text);
[[nodiscard]] QueueGoal deadlines_goal(const std::string& where, const std::string& text);
/// @throws UsageError, prefixed by `where`, where the file has no such class, or no deadline for
///   the goal
void check_goal(const std::string& where, const QueueGoal& goal, const ClusterFile& file);

/// A cluster with another number of hosts, and its queue.
struct HostsRow {
  ClusterFile file;
  QueueSummary summary;
};

struct HostsStudy {
  std::string name;
  std::vector<HostsRow> rows;  ///< by hosts, upwards
  std::optional<QueueGoal> goal;
  std::optional<int> fewest;  ///< hosts that keep the goal; absent: none do, or no goal
  bool stopped = false;
};

/// The file with so many hosts. @throws ScenarioError where that cannot be
using FileWithHosts = std::function<ClusterFile(int)>;

/// The same jobs on each number of hosts.
[[nodiscard]] HostsStudy study_hosts(const std::vector<int>& hosts, const FileWithHosts& file_with,
                                     const QueueStudyOptions& options);

/// The fewest hosts that keep the goal, as estimated: by doubling and halving from the
/// largest job and the hosts that the jobs fill on, up to 64 times as many; more hosts never wait
/// longer.
/// @pre check_goal()
[[nodiscard]] HostsStudy fewest_hosts(const ClusterFile& file, const QueueGoal& goal,
                                      const FileWithHosts& file_with,
                                      const QueueStudyOptions& options);

[[nodiscard]] Answer hosts_answer(const HostsStudy& study);
/// Schema cluster-hosts/1: planner/schemas/cluster-hosts.schema.json.
[[nodiscard]] std::string hosts_study_json(const HostsStudy& study);
[[nodiscard]] const ValueRows& hosts_study_document();

}  // namespace foretrain
