// SPDX-License-Identifier: Apache-2.0
#include "planner/cluster/cluster_report.hpp"

#include <algorithm>

#include "planner/text/format.hpp"

namespace foretrain {

ClusterCost cluster_cost(const ClusterFile& file, const QueueSummary& summary) {
  const QueueModel& queue = file.queue;
  const double own_s = static_cast<double>(file.gpus()) * (queue.horizon - queue.warm_up).value();
  const double rented_s = summary.hosts.rented * file.host.gpus;
  ClusterCost cost{own_s / 3600.0, rented_s / 3600.0};
  if (file.price_per_gpu_s) cost.own = Dollars{own_s * *file.price_per_gpu_s};
  if (file.burst_price_per_gpu_s) cost.rented = Dollars{rented_s * *file.burst_price_per_gpu_s};
  if (cost.own && cost.rented) cost.together = *cost.own + *cost.rented;
  return cost;
}

std::optional<ClusterEnergy> cluster_energy(const ClusterFile& file, const QueueSummary& summary) {
  if (!file.busy_power || !file.idle_power) return std::nullopt;
  const QueueModel& queue = file.queue;
  ClusterEnergy energy;
  for (const double host_s : summary.team_host_s)
    energy.teams.push_back(Seconds{host_s} * *file.busy_power);
  const double idle_s =
      queue.hosts * (queue.horizon - queue.warm_up).value() - summary.hosts.allocated;
  energy.idle = Seconds{std::max(0.0, idle_s)} * *file.idle_power;
  energy.together = energy.idle;
  for (const Joules team : energy.teams) energy.together += team;
  return energy;
}

AnswerSection cost_section(const ClusterFile& file, const QueueSummary& summary) {
  if (!file.queue.burst_after) return {};
  const ClusterCost cost = cluster_cost(file, summary);
  const auto money = [](const std::optional<Dollars>& value) {
    return value ? dollars_text(*value) : std::string("-");
  };
  AnswerTable table{{words_column("hosts"), number_column("GPU-hours"), number_column("cost")}};
  table.add({"own, used or not", count_text(cost.own_gpu_hours), money(cost.own)});
  table.add({"rented", count_text(cost.rented_gpu_hours), money(cost.rented)});
  table.add(
      {"together", count_text(cost.own_gpu_hours + cost.rented_gpu_hours), money(cost.together)});
  return {"Own and rented hosts", {std::move(table)}};
}

}  // namespace foretrain
