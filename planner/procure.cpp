// SPDX-License-Identifier: Apache-2.0
#include "planner/procure.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "models/closed_form.hpp"
#include "models/require.hpp"
#include "planner/best_plan.hpp"
#include "planner/internal/solve_parts.hpp"

namespace foretrain {
namespace {

ProcureCell cell_of(const Scenario& asked, const ProcureOptions& options) {
  ProcureCell cell;
  Scenario scenario = asked;
  if (options.search) {
    auto best = best_plan(asked, options.by, options.threads);
    if (!best) {
      cell.why = "no plan fits";
      return cell;
    }
    scenario = std::move(best->scenario);
    cell.settings = std::move(best->settings);
  }
  const Prediction forecast = closed_form(scenario.job);
  if (!forecast.step) {
    cell.why = forecast.reasons.front().message;
    return cell;
  }
  cell.plan = plan_words(scenario.job);
  cell.step = forecast.step->time;
  cell.mfu = forecast.efficiency->mfu;
  cell.tokens_per_s = forecast.efficiency->tokens_per_s;
  cell.run = run_duration(forecast);
  cell.gpu_hours = forecast.cost.gpu_hours;
  if (forecast.cost.price) cell.price_usd = forecast.cost.price->value();
  return cell;
}

template <class T, class Member>
std::optional<T> sum_of(const std::vector<ProcureCell>& cells, Member member) {
  T sum{};
  for (const ProcureCell& cell : cells) {
    if (!(cell.*member)) return std::nullopt;
    sum += *(cell.*member);
  }
  return sum;
}

/// What clusters are ordered by: unknown last, then by name order as given.
double key_of(const ProcureCluster& cluster, RankBy by) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  const bool runs = std::all_of(cluster.cells.begin(), cluster.cells.end(),
                                [](const ProcureCell& cell) { return cell.why.empty(); });
  if (!runs) return unknown;
  if (by == RankBy::gpus) return cluster.gpus;
  if (by == RankBy::cost || by == RankBy::energy) {
    if (by == RankBy::cost && cluster.price_usd) return *cluster.price_usd;
    return cluster.gpu_hours.value_or(unknown);
  }
  if (cluster.run) return cluster.run->value();
  // Without tokens to train, the time of a step of each.
  return std::accumulate(
      cluster.cells.begin(), cluster.cells.end(), 0.0,
      [](double sum, const ProcureCell& cell) { return sum + cell.step.value(); });
}

}  // namespace

Scenario workload_on(const Scenario& workload, const Scenario& cluster) {
  Scenario scenario = workload;
  Job& job = scenario.job;
  const Job& machine = cluster.job;
  job.cluster = machine.cluster;
  job.device_profile = machine.device_profile;
  job.site = machine.site;
  job.operations = machine.operations;
  job.communication.transport = machine.communication.transport;
  const std::int64_t replica =
      std::int64_t{job.parallel.tensor} * job.parallel.context * job.parallel.pipeline;
  const int gpus = job.cluster.gpus();
  if (gpus % replica == 0) job.parallel.data = static_cast<int>(gpus / replica);
  // Its text is that of the workload on its own machine.
  scenario.source = {};
  return scenario;
}

Procurement procure(const std::vector<Scenario>& clusters, const std::vector<Scenario>& workloads,
                    const ProcureOptions& options) {
  FORETRAIN_REQUIRE(!clusters.empty() && !workloads.empty());
  Procurement result;
  result.by = options.by;
  result.searched = options.search;
  for (const Scenario& workload : workloads) result.workloads.push_back(workload.job.name);
  for (const Scenario& cluster : clusters) {
    const Cluster& machine = cluster.job.cluster;
    ProcureCluster candidate{
        cluster.job.name, machine.gpus(), machine.host.device.title, {}, {}, {}, {}};
    for (const Scenario& workload : workloads) {
      const Scenario placed = workload_on(workload, cluster);
      candidate.cells.push_back(cell_of(placed, options));
      add_not_compared(result.not_compared, formats_not_compared(placed.job, cluster.job.name));
    }
    add_not_compared(result.not_compared, costs_not_compared(cluster.job, cluster.job.name));
    candidate.run = sum_of<Seconds>(candidate.cells, &ProcureCell::run);
    candidate.gpu_hours = sum_of<double>(candidate.cells, &ProcureCell::gpu_hours);
    candidate.price_usd = sum_of<double>(candidate.cells, &ProcureCell::price_usd);
    result.clusters.push_back(std::move(candidate));
  }
  add_not_compared(result.not_compared, {engines_not_compared(EngineKind::closed_form)});
  result.ranking.resize(clusters.size());
  std::iota(result.ranking.begin(), result.ranking.end(), std::size_t{0});
  std::stable_sort(result.ranking.begin(), result.ranking.end(), [&](std::size_t a, std::size_t b) {
    return key_of(result.clusters[a], options.by) < key_of(result.clusters[b], options.by);
  });
  return result;
}

}  // namespace foretrain
