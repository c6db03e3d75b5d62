// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/cluster/cluster_file.hpp"
#include "sim/queue/queue_study.hpp"

namespace foretrain {

/// Waits, utilisation, where host time goes, teams, the queue over time; on a page also who is on
/// which hosts in a replication.
/// @param schedule of one replication, QueueSample::schedule; empty: not drawn
[[nodiscard]] Answer cluster_answer(const ClusterFile& file, const QueueSummary& summary,
                                    const std::vector<ScheduledStretch>& schedule = {});
/// Schema cluster/1: planner/schemas/cluster.schema.json.
[[nodiscard]] std::string cluster_json(const ClusterFile& file, const QueueSummary& summary);
/// RFC 4180: a row per class and one of all jobs.
[[nodiscard]] std::string cluster_csv(const ClusterFile& file, const QueueSummary& summary);
/// Queue and hosts over the horizon as a picture.
[[nodiscard]] std::string cluster_svg(const ClusterFile& file, const QueueSummary& summary);

}  // namespace foretrain
