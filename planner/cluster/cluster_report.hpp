// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/base/quantity.hpp"
#include "planner/answer/answer.hpp"
#include "planner/answer/value_rows.hpp"
#include "planner/cluster/cluster_file.hpp"
#include "sim/queue/queue_study.hpp"

namespace foretrain {

/// What the time between warm-up and horizon costs, mean over replications.
struct ClusterCost {
  double own_gpu_hours = 0.0;     ///< of all hosts, used or not
  double rented_gpu_hours = 0.0;  ///< of jobs that left for rented hosts
  std::optional<Dollars> own{};   ///< absent: no cluster.price
  std::optional<Dollars> rented{};
  std::optional<Dollars> together{};  ///< where both prices are known
};

/// What the own hosts draw in that time; absent without cluster.power.
struct ClusterEnergy {
  std::vector<Joules> teams{};  ///< of hosts with their jobs
  Joules idle{};                ///< of hosts without one
  Joules together{};
};
[[nodiscard]] std::optional<ClusterEnergy> cluster_energy(const ClusterFile& file,
                                                          const QueueSummary& summary);

[[nodiscard]] ClusterCost cluster_cost(const ClusterFile& file, const QueueSummary& summary);

/// Of waits and turnarounds, as JSON and goals name them.
inline constexpr std::array<std::pair<const char*, QueueEstimate QueueTimes::*>, 4>
    queue_statistics{{{"mean", &QueueTimes::mean},
                      {"p50", &QueueTimes::p50},
                      {"p90", &QueueTimes::p90},
                      {"p99", &QueueTimes::p99}}};

/// Both ends of a confidence interval; nothing of one replication.
[[nodiscard]] std::optional<std::array<double, 2>> confidence_of(const QueueEstimate& estimate);

/// GPU-hours and their price; empty without cluster.burst.
[[nodiscard]] AnswerSection cost_section(const ClusterFile& file, const QueueSummary& summary);

/// Waits, utilisation, where host time goes, teams, the queue over time; on a page also who is on
/// which hosts in a replication.
/// @param schedule of one replication, QueueSample::schedule; empty: not drawn
[[nodiscard]] Answer cluster_answer(const ClusterFile& file, const QueueSummary& summary,
                                    const std::vector<ScheduledStretch>& schedule = {});
/// Schema cluster/1: planner/schemas/cluster.schema.json.
[[nodiscard]] std::string cluster_json(const ClusterFile& file, const QueueSummary& summary);
[[nodiscard]] const ValueRows& cluster_document();
/// RFC 4180: a row per class and one of all jobs.
[[nodiscard]] std::string cluster_csv(const ClusterFile& file, const QueueSummary& summary);
/// Queue and hosts over the horizon.
[[nodiscard]] Scene cluster_chart(const ClusterFile& file, const QueueSummary& summary,
                                  const SceneSpace& space);

}  // namespace foretrain
