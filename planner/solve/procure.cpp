// SPDX-License-Identifier: Apache-2.0
#include "planner/solve/procure.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "models/base/require.hpp"
#include "models/forecast/closed_form.hpp"
#include "models/grid/process_grid.hpp"
#include "planner/search/search.hpp"
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

/// The multiple of `of` that is nearest.
int nearest_multiple(int batch, int of) {
  return std::max(1, static_cast<int>(std::lround(static_cast<double>(batch) / of))) * of;
}

/// Batches within 5 % that more of the machine's GPUs divide than the asked one, nearest first.
std::vector<int> near_batches(int batch, int gpus) {
  constexpr double few = 0.05;
  constexpr std::size_t most = 8;
  std::set<std::pair<int, int>> found;  // distance, batch
  for (int ranks = 2; ranks <= gpus; ++ranks) {
    if (gpus % ranks != 0 || batch % ranks == 0) continue;
    const int near = nearest_multiple(batch, ranks);
    const int distance = std::abs(near - batch);
    if (distance > 0 && distance <= few * batch) found.emplace(distance, near);
  }
  std::vector<int> batches;
  for (const auto& [distance, near] : found)
    if (batches.size() < most) batches.push_back(near);
  return batches;
}

double time_per_sequence(const Scenario& scenario) {
  const Prediction forecast = closed_form(scenario.job);
  return forecast.step ? forecast.step->time.value() / scenario.job.training.global_batch
                       : std::numeric_limits<double>::infinity();
}

/// The best plan with another batch, which is then among its settings.
std::optional<BestPlan> best_with(const Scenario& asked, int batch, const ProcureOptions& options) {
  Scenario scenario = asked;
  scenario.job.training.global_batch = batch;
  auto best = best_plan(scenario, options.by, options.threads, options.limits, options.stop);
  if (best && batch != asked.job.training.global_batch)
    best->settings.push_back("training.global_batch=" + std::to_string(batch));
  return best;
}

/// The best plan, its batch moved where that pays.
std::optional<BestPlan> searched(const Scenario& asked, const ProcureOptions& options,
                                 ProcureCell& cell) {
  constexpr double pays = 0.98;
  constexpr double far = 0.25;
  constexpr double much = 0.95;
  const int batch = asked.job.training.global_batch;
  const int gpus = asked.job.cluster.gpus();
  std::optional<BestPlan> best = best_with(asked, batch, options);
  double least = best ? time_per_sequence(best->scenario) : std::numeric_limits<double>::infinity();
  double limit = pays * least;
  for (const int near : near_batches(batch, gpus)) {
    auto moved = best_with(asked, near, options);
    if (!moved) continue;
    const double time = time_per_sequence(moved->scenario);
    if (time > limit || !(time < least)) continue;
    best = std::move(moved);
    least = limit = time;
  }
  const int whole = nearest_multiple(batch, gpus);
  if (best && whole != batch && std::abs(whole - batch) <= far * batch)
    if (const auto divided = best_with(asked, whole, options)) {
      const double time = time_per_sequence(divided->scenario) / least;
      if (time < much) {
        cell.divided_batch = whole;
        cell.divided_time = time;
      }
    }
  return best;
}

ProcureCell cell_of(const Scenario& asked, const ProcureOptions& options) {
  ProcureCell cell;
  Scenario scenario = asked;
  cell.asked_batch = cell.batch = asked.job.training.global_batch;
  if (options.search) {
    auto best = searched(asked, options, cell);
    if (!best) {
      cell.why = options.limits.default_room() ? "no plan fits with room to spare" : "no plan fits";
      return cell;
    }
    scenario = std::move(best->scenario);
    cell.batch = scenario.job.training.global_batch;
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
  return std::accumulate(cluster.cells.begin(), cluster.cells.end(), 0.0,
                         [](double sum, const ProcureCell& cell) {
                           return sum + cell.step.value() * cell.asked_batch / cell.batch;
                         });
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
  return std::ranges::all_of(cells, [](const ProcureCell& cell) { return cell.why.empty(); });
}

ProcureMeasure measure_of(const Procurement& result) {
  const auto any = [&](auto member) {
    return std::ranges::any_of(result.clusters, [&](const ProcureCluster& cluster) {
      return (cluster.*member).has_value();
    });
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

std::vector<std::string> offer_names(const Procurement& result) {
  std::vector<std::string> names;
  for (const ProcureCluster& cluster : result.clusters) names.push_back(cluster.name);
  if (names.size() < 2) return names;
  std::size_t same = names.front().size();
  for (const std::string& name : names)
    same = std::min(
        same, static_cast<std::size_t>(std::mismatch(name.begin(), name.end(),
                                                     names.front().begin(), names.front().end())
                                           .first -
                                       name.begin()));
  // Whole words, and something of each is left.
  const std::size_t cut =
      same == 0 ? names.front().npos : names.front().find_last_of("-_ ", same - 1);
  if (cut == names.front().npos) return names;
  const auto ends = [&](const std::string& name) { return name.size() <= cut + 1; };
  if (std::ranges::any_of(names, ends)) return names;
  for (std::string& name : names) name.erase(0, cut + 1);
  return names;
}

std::optional<double> break_even(const ProcureCluster& cluster, const ProcureCluster& other) {
  if (!cluster.price_usd || !other.price_usd || !cluster.usd_per_gpu_hour) return std::nullopt;
  if (*cluster.price_usd <= 0.0 || *other.price_usd <= 0.0) return std::nullopt;
  return *cluster.usd_per_gpu_hour * *other.price_usd / *cluster.price_usd;
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
    if (const auto& price = cluster.job.operations.price_per_gpu)
      candidate.usd_per_gpu_hour = price->value() * 3600.0;
    candidate.prices_as_of = cluster.job.operations.prices_as_of;
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
  std::ranges::stable_sort(result.ranking,
                           [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  return result;
}

}  // namespace foretrain
