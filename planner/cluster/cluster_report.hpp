// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "planner/cluster/cluster_file.hpp"
#include "planner/text/text_layout.hpp"
#include "sim/queue/queue_study.hpp"

namespace foretrain {

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
/// One page to read and share: the picture and the tables.
[[nodiscard]] std::string cluster_html(const ClusterFile& file, const QueueSummary& summary);

}  // namespace foretrain
