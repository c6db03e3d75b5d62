// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/answer/head.hpp"
#include "planner/cluster/cluster_file.hpp"
#include "planner/text/text_layout.hpp"
#include "sim/queue/queue_study.hpp"

namespace foretrain {

[[nodiscard]] AnswerHead cluster_head(const ClusterFile& file, const QueueSummary& summary);
/// Waits, utilisation, where host time goes, teams, the queue over time. No line is longer than
/// style.width.
[[nodiscard]] std::string cluster_text(const ClusterFile& file, const QueueSummary& summary,
                                       const TextStyle& style = {});
/// Schema cluster/1: planner/schemas/cluster.schema.json.
[[nodiscard]] std::string cluster_json(const ClusterFile& file, const QueueSummary& summary);
/// RFC 4180: a row per class and one of all jobs.
[[nodiscard]] std::string cluster_csv(const ClusterFile& file, const QueueSummary& summary);
/// Queue and hosts over the horizon as a picture.
[[nodiscard]] std::string cluster_svg(const ClusterFile& file, const QueueSummary& summary);
/// One page to read and share: waits by class, hosts and queue over time, and who is on which hosts
/// in a replication. It has no script and asks nothing of a network; its content security policy
/// says so. Text of users is data to it and never markup.
/// @param schedule of one replication, QueueSample::schedule; empty: not drawn
[[nodiscard]] std::string cluster_html(const ClusterFile& file, const QueueSummary& summary,
                                       const std::vector<ScheduledStretch>& schedule);

}  // namespace foretrain
