// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/quantity.hpp"
#include "planner/answer/answer.hpp"
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

/// GPU-hours and their price; empty without cluster.burst.
[[nodiscard]] AnswerSection cost_section(const ClusterFile& file, const QueueSummary& summary);

}  // namespace foretrain
