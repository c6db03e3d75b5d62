// SPDX-License-Identifier: Apache-2.0
#include "planner/solve/procure.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "models/base/require.hpp"
#include "models/forecast/closed_form.hpp"
#include "models/grid/process_grid.hpp"
#include "planner/search/best_plan.hpp"
#include "planner/solve/internal/solve_parts.hpp"

namespace foretrain {
namespace {

template <class Quantity>
std::optional<double> in(const std::optional<Quantity>& value, Quantity unit) {
  return value ? std::optional(*value / unit) : std::nullopt;
}

std::optional<ProcureBand> band_of_cost(const std::optional<double>& low,
                                        const std::optional<double>& middle,
                                        const std::optional<double>& high) {
  if (!low || !middle || !high) return std::nullopt;
  return ProcureBand{*low, *middle, *high};
}

ProcureCell cell_of(const Scenario& asked, const ProcureOptions& options) {
  ProcureCell cell;
  Scenario scenario = asked;
  if (options.search) {
    auto best = best_plan(asked, options.by, options.threads, options.limits, options.stop);
    if (!best) {
      cell.why = options.limits.default_room() ? "no plan fits with room to spare" : "no plan fits";
      return cell;
    }
    scenario = std::move(best->scenario);
    cell.settings = std::move(best->settings);
  }
  const Prediction forecast = closed_form(scenario.job);
  if (!forecast.step || !forecast.efficiency) {
    cell.why =
        forecast.reasons.empty() ? "its time is not known" : forecast.reasons.front().message;
    return cell;
  }
  cell.plan = plan_words(scenario.job);
  cell.step = forecast.step->time;
  cell.step_low = forecast.step->low;
  cell.step_high = forecast.step->high;
  cell.mfu = forecast.efficiency->mfu;
  cell.tokens_per_s = forecast.efficiency->tokens_per_s;
  cell.run = run_duration(forecast);
  cell.gpu_hours = forecast.cost.gpu_hours;
  const CostForecast& cost = forecast.cost;
  if (cost.price) cell.price_usd = cost.price->value();
  cell.gpu_hours_band = band_of_cost(cost.low.gpu_hours, cost.gpu_hours, cost.high.gpu_hours);
  cell.price_band = band_of_cost(in(cost.low.price, Dollars{1.0}), in(cost.price, Dollars{1.0}),
                                 in(cost.high.price, Dollars{1.0}));
  cell.energy_kwh =
      band_of_cost(in(cost.low.energy, kWh), in(cost.energy, kWh), in(cost.high.energy, kWh));
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

double sum_of_steps(const ProcureCluster& cluster) {
  return std::accumulate(
      cluster.cells.begin(), cluster.cells.end(), 0.0,
      [](double sum, const ProcureCell& cell) { return sum + cell.step.value(); });
}

/// Percentiles of the time of all workloads, weighted by how long each takes.
void set_band(ProcureCluster& cluster) {
  if (!cluster.runs()) return;
  double low = 0.0;
  double high = 0.0;
  double whole = 0.0;
  for (const ProcureCell& cell : cluster.cells) {
    const double weight = (cluster.run ? *cell.run : cell.step).value();
    low += weight * (cell.step_low / cell.step);
    high += weight * (cell.step_high / cell.step);
    whole += weight;
  }
  cluster.low = low / whole;
  cluster.high = high / whole;
}

/// What clusters are ordered by, the same quantity for all: unknown last, then as given. Where no
/// cluster has a price, GPU-hours; where no workload has tokens, the time of a step of each. Energy
/// by the middle of its range: clusters leave different parts of it unsaid.
double key_of(const Procurement& result, ProcureMeasure measure, const ProcureCluster& cluster) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  if (!cluster.runs()) return unknown;
  if (result.by == RankBy::gpus) return static_cast<double>(cluster.gpus);
  const auto band = band_of(measure, cluster);
  if (!band) return unknown;
  if (measure == ProcureMeasure::energy) return std::sqrt(band->low * band->high);
  const bool of_gpus = measure == ProcureMeasure::step_time && result.by != RankBy::time;
  return band->middle * (of_gpus ? cluster.gpus : 1.0);
}

}  // namespace

bool ProcureCluster::runs() const {
  return std::all_of(cells.begin(), cells.end(),
                     [](const ProcureCell& cell) { return cell.why.empty(); });
}

ProcureMeasure measure_of(const Procurement& result) {
  const auto any = [&](auto member) {
    return std::any_of(
        result.clusters.begin(), result.clusters.end(),
        [&](const ProcureCluster& cluster) { return (cluster.*member).has_value(); });
  };
  if (result.by == RankBy::energy && any(&ProcureCluster::energy_kwh))
    return ProcureMeasure::energy;
  if (result.by == RankBy::cost && any(&ProcureCluster::price_usd)) return ProcureMeasure::price;
  if (result.by == RankBy::cost && any(&ProcureCluster::gpu_hours)) return ProcureMeasure::gpu_time;
  return any(&ProcureCluster::run) ? ProcureMeasure::run_time : ProcureMeasure::step_time;
}

ProcureBand& ProcureBand::operator+=(const ProcureBand& other) {
  low += other.low;
  middle += other.middle;
  high += other.high;
  return *this;
}

std::optional<ProcureBand> band_of(ProcureMeasure measure, const ProcureCluster& cluster) {
  if (!cluster.runs()) return std::nullopt;
  if (measure == ProcureMeasure::price) return cluster.price_band;
  if (measure == ProcureMeasure::energy) return cluster.energy_kwh;
  if (measure == ProcureMeasure::gpu_time) return cluster.gpu_hours_band;
  const auto of_time = [&](double time) {
    return ProcureBand{time * cluster.low, time, time * cluster.high};
  };
  if (measure == ProcureMeasure::step_time) return of_time(sum_of_steps(cluster));
  return cluster.run ? std::optional(of_time(*cluster.run / days)) : std::nullopt;
}

std::optional<std::vector<std::size_t>> ties_with_first(const Procurement& result,
                                                        ProcureMeasure measure) {
  // Of energy the ends are known; what the forecast counts of it differs from cluster to cluster.
  const auto banded = [&](const ProcureBand& band) {
    return Banded{band.low,
                  measure == ProcureMeasure::energy ? std::sqrt(band.low * band.high) : band.middle,
                  band.high};
  };
  std::optional<Banded> first;
  std::optional<std::vector<std::size_t>> ties;
  for (const std::size_t i : result.ranking) {
    const auto band = band_of(measure, result.clusters[i]);
    if (!band || !(band->low > 0.0)) continue;
    if (!first) {
      first = banded(*band);
      continue;
    }
    if (!ties) ties.emplace();
    if (contest(*first, banded(*band), Machines::different).ahead != Ahead::first)
      ties->push_back(i);
  }
  return ties;
}

Scenario workload_on(const Scenario& workload, const Scenario& cluster) {
  Scenario scenario = workload;
  Job& job = scenario.job;
  const Job& machine = cluster.job;
  job.cluster = machine.cluster;
  job.device_profile = machine.device_profile;
  job.site = machine.site;
  job.operations = machine.operations;
  job.communication.transport = machine.communication.transport;
  const std::int64_t replica = replica_ranks(job.parallel);
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
    ProcureCluster candidate{cluster.job.name,
                             machine.gpus(),
                             machine.host.device.title,
                             {},
                             {},
                             {},
                             {},
                             {},
                             {},
                             {},
                             1.0,
                             1.0,
                             cluster.job.device_profile.provenance.trust};
    for (const Scenario& workload : workloads) {
      const Scenario placed = workload_on(workload, cluster);
      candidate.cells.push_back(cell_of(placed, options));
      add_not_compared(result.not_compared, formats_not_compared(placed.job, cluster.job.name));
    }
    add_not_compared(result.not_compared, costs_not_compared(cluster.job, cluster.job.name));
    candidate.run = sum_of<Seconds>(candidate.cells, &ProcureCell::run);
    candidate.gpu_hours = sum_of<double>(candidate.cells, &ProcureCell::gpu_hours);
    candidate.price_usd = sum_of<double>(candidate.cells, &ProcureCell::price_usd);
    candidate.gpu_hours_band = sum_of<ProcureBand>(candidate.cells, &ProcureCell::gpu_hours_band);
    candidate.price_band = sum_of<ProcureBand>(candidate.cells, &ProcureCell::price_band);
    candidate.energy_kwh = sum_of<ProcureBand>(candidate.cells, &ProcureCell::energy_kwh);
    set_band(candidate);
    // A search that was cut short has not seen every plan.
    if (options.stop != nullptr && options.stop->load()) break;
    result.clusters.push_back(std::move(candidate));
  }
  add_not_compared(result.not_compared, {engines_not_compared(EngineKind::closed_form)});
  result.left_out = clusters.size() - result.clusters.size();
  result.ranking.resize(result.clusters.size());
  std::iota(result.ranking.begin(), result.ranking.end(), std::size_t{0});
  const ProcureMeasure measure = measure_of(result);
  std::vector<double> keys;
  for (const ProcureCluster& cluster : result.clusters)
    keys.push_back(key_of(result, measure, cluster));
  std::stable_sort(result.ranking.begin(), result.ranking.end(),
                   [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  return result;
}

}  // namespace foretrain
