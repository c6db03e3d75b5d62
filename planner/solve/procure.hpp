// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/search/not_compared.hpp"
#include "planner/search/search.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// A forecast with its 10th and 90th percentile.
struct ProcureBand {
  double low = 0.0;
  double middle = 0.0;  ///< of energy: what the scenario says draws, which may be less than `low`
  double high = 0.0;

  ProcureBand& operator+=(const ProcureBand& other);
};

/// One workload on one candidate.
struct ProcureCell {
  std::string plan;                   ///< in short words; empty where none runs
  std::vector<std::string> settings;  ///< of the plan, where it was searched
  std::string why;                    ///< that nothing runs; empty: it runs
  int batch = 0;                      ///< sequences of a step
  int asked_batch = 0;                ///< the workload's; a search may move it by a few percent
  /// Of a search: a batch further away that all GPUs divide, and its time per token over this
  /// plan's; nothing where it is not much faster.
  std::optional<int> divided_batch{};
  double divided_time = 1.0;
  Seconds step;
  Seconds step_low;  ///< 10th percentile
  Seconds step_high;
  double mfu = 0.0;
  double tokens_per_s = 0.0;
  std::optional<Seconds> run;  ///< expected, or ideal where goodput is unknown
  std::optional<double> gpu_hours;
  std::optional<double> price_usd;
  std::optional<ProcureBand> gpu_hours_band;
  std::optional<ProcureBand> price_band;
  std::optional<ProcureBand> energy_kwh;  ///< at the meter of the whole machine
};

/// A machine that could be bought or rented.
struct ProcureCluster {
  std::string name;
  int gpus = 0;
  std::string device;
  std::vector<ProcureCell> cells;  ///< one per workload
  /// All workloads one after the other; absent where one does not run or says no tokens (price:
  /// no price).
  std::optional<Seconds> run;
  std::optional<double> gpu_hours;
  std::optional<double> price_usd;
  /// All workloads one after the other; a cluster's constants are off for all of them alike.
  std::optional<ProcureBand> gpu_hours_band;
  std::optional<ProcureBand> price_band;
  std::optional<ProcureBand> energy_kwh;
  /// 10th and 90th percentile of the time of all workloads over its forecast. 1 where one does not
  /// run.
  double low = 1.0;
  double high = 1.0;
  Trust evidence = Trust::measured;  ///< of its kernels
  std::optional<double> usd_per_gpu_hour{};
  std::optional<std::string> prices_as_of{};

  [[nodiscard]] bool runs() const;  ///< all workloads
};

/// What a ranking's bands are shown of: the quantity that clusters are ranked by, or what takes its
/// place where that is not a forecast (GPUs) or not known.
enum class ProcureMeasure { step_time, run_time, gpu_time, price, energy };

struct Procurement {
  std::vector<std::string> workloads;
  std::vector<ProcureCluster> clusters;  ///< as given
  std::vector<std::size_t> ranking;      ///< of clusters; those that miss a workload come last
  RankBy by = RankBy::time;
  bool searched = false;
  std::size_t left_out = 0;               ///< clusters that were not reached before `stop`
  std::vector<NotCompared> not_compared;  ///< what the ranking says nothing about
};

struct ProcureOptions {
  RankBy by = RankBy::time;
  /// The best plan of each cell instead of the workload's own; the batch moves by 5 % at most where
  /// the machine does not divide it and that is at least 2 % faster per token.
  bool search = false;
  int threads = 2;
  SearchLimits limits{};                    ///< of the plans that are searched
  const std::atomic<bool>* stop = nullptr;  ///< set from outside: ranks what is done by then
};

/// `workload` on the machine of `cluster`: host, fabric, transport, site and operations are the
/// cluster's, everything else the workload's; data ranks are what the machine has left.
[[nodiscard]] Scenario workload_on(const Scenario& workload, const Scenario& cluster);

/// Forecasts every workload on every cluster in closed form. @pre neither list is empty
[[nodiscard]] Procurement procure(const std::vector<Scenario>& clusters,
                                  const std::vector<Scenario>& workloads,
                                  const ProcureOptions& options = {});

[[nodiscard]] ProcureMeasure measure_of(const Procurement& result);
/// Seconds of the asked sequences of a step of each workload, days, GPU-hours, USD or kWh; nothing
/// where it is not known.
[[nodiscard]] std::optional<ProcureBand> band_of(ProcureMeasure measure,
                                                 const ProcureCluster& cluster);
/// Clusters of the ranking that the first is not ahead of for sure, by contest(); nothing where
/// less than two bands are known.
[[nodiscard]] std::optional<std::vector<std::size_t>> ties_with_first(const Procurement& result,
                                                                      ProcureMeasure measure);

/// What tells candidates apart: their names less the words that all begin with.
[[nodiscard]] std::vector<std::string> offer_names(const Procurement& result);

/// The price per GPU-hour at which `cluster` costs as much as `other` does at its own; nothing
/// where one costs nothing or is not known.
[[nodiscard]] std::optional<double> break_even(const ProcureCluster& cluster,
                                               const ProcureCluster& other);

[[nodiscard]] Answer procure_answer(const Procurement& result);
/// Schema procure/1: planner/README.md, "Output".
[[nodiscard]] std::string procure_json(const Procurement& result);
/// RFC 4180: one row per cell.
[[nodiscard]] std::string procure_csv(const Procurement& result);

}  // namespace foretrain
