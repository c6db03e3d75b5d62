// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/provenance.hpp"
#include "models/base/quantity.hpp"

namespace foretrain {

enum class EngineKind { closed_form, path, event };
FORETRAIN_ENUM_NAMES(EngineKind, {EngineKind::closed_form, "closed-form"},
                     {EngineKind::path, "path"}, {EngineKind::event, "event"});

/// Why a plan cannot run. An expected answer, not an exception: a search meets it all the time.
struct Infeasible {
  std::string rule;     ///< stable id, e.g. "kv-heads-divide-tensor", "out-of-memory"
  std::string key;      ///< scenario key to change, e.g. "parallel.tensor"; may be empty
  std::string message;  ///< one sentence with the numbers
  std::string remedy;   ///< smallest change that helps; may be empty
};

inline constexpr std::string_view not_modelled_rule = "not-modelled";

/// A number that was computed outside its fitted range, or an input that is unknown.
struct Warning {
  std::string id;  ///< stable, e.g. "uncalibrated-device"
  std::string message;
};

/// A byte count with a name people know.
struct MemoryRow {
  std::string name;      ///< e.g. "fp32 logits and softmax"
  std::string category;  ///< JSON key it is summed into, without "_bytes": weights, gradients, ...
  Bytes size;
};

/// Memory of one pipeline stage's heaviest rank. The eight categories sum to `peak`.
struct StageMemory {
  int stage = 0;
  int layers = 0;
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;
  Bytes buffers;
  Bytes communication;
  Bytes context;
  Bytes fragmentation;
  Bytes allocated;  ///< tensors: weights .. buffers at the peak phase
  /// Torch's max_memory_allocated: less than `allocated` where captured parts of layers write into
  /// pools of CUDA graphs, which it does not count again.
  Bytes counted;
  Bytes resident;     ///< torch's memory_allocated between two steps
  Bytes reserved;     ///< torch's max_memory_reserved: allocated and fragmentation
  Bytes host;         ///< CPU memory per GPU that offloading needs; not in any category
  Bytes to_host;      ///< what offloading moves down from this GPU per optimizer step
  Bytes to_device;    ///< and up to it
  Bytes peak;         ///< what the device counter shows: everything
  std::string phase;  ///< where in the step the peak is, e.g. "forward of the loss"
  std::vector<MemoryRow> rows;
};

/// Device memory of a plan's heaviest stage.
struct MemoryNeed {
  Bytes peak;  ///< as forecast, the allocator's cache included
  Bytes high;  ///< at the upper end of the memory band
};

struct MemoryForecast {
  Bytes capacity;  ///< nominal
  Bytes usable;    ///< what a process can get, context included
  Bytes peak;      ///< of the heaviest stage
  Bytes low;       ///< of it at the lower end of the memory band
  Bytes high;      ///< and at the upper end
  int peak_stage = 0;
  std::vector<StageMemory> stages;
  /// torch.nn.DataParallel: every GPU but GPU 0, of which `stages` tells; it is the heaviest.
  std::optional<StageMemory> replica;

  [[nodiscard]] MemoryNeed need() const { return {peak, high}; }
  [[nodiscard]] bool fits() const { return peak <= usable; }
  /// It is not forecast to fit, and yet may: the lower end of its band does.
  [[nodiscard]] bool may_fit() const { return !fits() && low <= usable; }
  /// It fits, but fills the device, or would not fit at the upper end of its band.
  [[nodiscard]] bool fits_barely() const { return fits() && (peak >= usable || high > usable); }
};

/// Where the step time goes (models/step/README.md, "Breakdown"). The parts are >= 0 and sum to it.
struct TimeBreakdown {
  Seconds compute;
  Seconds recompute;
  Seconds tensor;
  Seconds context;
  Seconds expert;
  Seconds pipeline;
  Seconds bubble;
  Seconds data;
  Seconds optimizer;
  Seconds input;
  Seconds launch;
  Seconds imbalance;

  [[nodiscard]] Seconds total() const;
  TimeBreakdown& operator*=(double factor);
};

/// Every part of a step, in the order in which total() adds them.
inline constexpr std::array time_parts{
    &TimeBreakdown::compute, &TimeBreakdown::recompute, &TimeBreakdown::tensor,
    &TimeBreakdown::context, &TimeBreakdown::expert,    &TimeBreakdown::pipeline,
    &TimeBreakdown::bubble,  &TimeBreakdown::data,      &TimeBreakdown::optimizer,
    &TimeBreakdown::input,   &TimeBreakdown::launch,    &TimeBreakdown::imbalance};
static_assert(sizeof(TimeBreakdown) == time_parts.size() * sizeof(Seconds));

inline Seconds TimeBreakdown::total() const {
  Seconds sum;
  for (const auto part : time_parts) sum += this->*part;
  return sum;
}

inline TimeBreakdown& TimeBreakdown::operator*=(double factor) {
  for (const auto part : time_parts) this->*part *= factor;
  return *this;
}

struct StepForecast {
  Seconds time;
  Seconds low;   ///< 10th percentile
  Seconds high;  ///< 90th percentile
  TimeBreakdown breakdown;
  /// Kernels of the optimizer, mean over the stages; breakdown.optimizer is what the step grows by.
  Seconds updating;
};

/// FLOPs of one optimizer step over all GPUs.
struct FlopsForecast {
  Flop model_per_step;
  Flop hardware_per_step;  ///< with recomputation
  FlopPerSecond peak_per_gpu;
  std::string convention;
};

struct Efficiency {
  double mfu = 0.0;
  double hfu = 0.0;
  double tokens_per_s = 0.0;
  double tokens_per_s_per_gpu = 0.0;
  double model_tflops_per_gpu = 0.0;
};

/// Where the time of the whole run goes, in expectation. The parts sum to the expected duration.
struct RunSplit {
  Seconds steps;        ///< that last, at full speed
  Seconds evaluation;   ///< pauses for it
  Seconds checkpoints;  ///< that stop training
  Seconds slow;         ///< waiting for stragglers
  Seconds lost;         ///< lost work: steps repeated after an interruption
  Seconds detection;    ///< nobody has noticed yet
  Seconds restart;      ///< rescheduling, loading the checkpoint, warming up
  Seconds planned;      ///< stops that were announced
  Seconds waiting;      ///< for hosts: queue, repairs, preempted capacity

  [[nodiscard]] Seconds total() const;
};

/// Every part of a run's time, in the order in which total() adds them.
inline constexpr std::array run_time_parts{
    &RunSplit::steps,   &RunSplit::evaluation, &RunSplit::checkpoints,
    &RunSplit::slow,    &RunSplit::lost,       &RunSplit::detection,
    &RunSplit::restart, &RunSplit::planned,    &RunSplit::waiting};
static_assert(sizeof(RunSplit) == run_time_parts.size() * sizeof(Seconds));

inline Seconds RunSplit::total() const {
  Seconds sum;
  for (const auto part : run_time_parts) sum += this->*part;
  return sum;
}

/// The whole training run. Absent: not computable from what the scenario says.
struct RunForecast {
  std::optional<double> tokens;
  std::optional<double> steps;
  std::optional<Seconds> ideal;
  std::optional<Seconds> expected;
  std::optional<double> goodput;  ///< ideal / expected
  std::optional<Seconds> p10;
  std::optional<Seconds> p50;
  std::optional<Seconds> p90;
  std::optional<RunSplit> split;
  std::optional<double> scheduling;     ///< share of the run in which all hosts are there
  std::optional<double> runtime;        ///< share of that in which steps last
  std::optional<double> interruptions;  ///< expected number
  std::optional<Seconds> between;       ///< mean time between interruptions of this job
  std::optional<Seconds> checkpoint_every;
  std::optional<Seconds> checkpoint_stall;
  std::optional<double> meets_deadline;     ///< probability
  std::optional<Seconds> checkpoint_write;  ///< to storage
  std::optional<Seconds> checkpoint_read;   ///< from it
  Bytes checkpoint;                         ///< weights and optimizer states on disk
};

/// Parts of a price; what the scenario has no price for stays absent.
struct CostParts {
  std::optional<Dollars> rent;     ///< GPU-hours at their price
  std::optional<Dollars> machine;  ///< GPUs and hosts that are owned, written off
  std::optional<Dollars> network;
  std::optional<Dollars> storage;
  std::optional<Dollars> staff;  ///< and upkeep
  std::optional<Dollars> electricity;
};

/// One end, 10th or 90th percentile, of what a run costs; absent where the forecast is.
struct CostEnd {
  std::optional<double> gpu_hours;
  std::optional<Dollars> price;
  /// Of the same quantity as CostForecast::energy: cooling and the network outside hosts are in it
  /// as far as the scenario states them.
  std::optional<Joules> energy;
  std::optional<double> co2_kg;
};

struct CostForecast {
  std::optional<double> gpu_hours;
  std::optional<Dollars> price;
  std::optional<Joules> energy;
  std::optional<double> co2_kg;
  std::optional<Joules> step_energy;  ///< of one step, at the meter
  std::optional<Watts> power;         ///< mean while training, at the meter
  CostParts parts;
  CostEnd low;
  CostEnd high;
};

/// What the machine draws over a step: models/run/README.md, "Power over time". At the meter, with
/// what the scenario says of network and building; `low` and `high` are 10th and 90th percentile
/// with what it does not say.
struct PowerForecast {
  Watts gpu;   ///< one GPU, mean over step and stages
  Watts host;  ///< one host with its GPUs, mean
  Watts mean;
  Watts low;
  Watts high;
  Watts peak;        ///< of a millisecond
  Watts meter_peak;  ///< of a second, as meters see it
  double peak_over_mean = 1.0;
  WattsPerSecond ramp;     ///< largest change from one second to the next
  Watts waiting;           ///< while every GPU waits for others
  Watts swing;             ///< from a second's peak to waiting: a step that stops or starts
  double coherence = 1.0;  ///< deviation of the sum over the sum of the hosts' deviations
};

/// A step's time with what follows from it.
struct TimedStep {
  StepForecast step;
  Efficiency efficiency;
};

struct LinkUse {
  std::string name;
  Bytes bytes;
  double utilisation = 0.0;
};

/// Everything an evaluator says about one job (design: schema prediction/1).
/// Years of the software that a forecast speaks of, where they are known.
struct SoftwareYears {
  std::optional<int> first;  ///< of the runs that the stack was fitted on
  std::optional<int> last;
  std::optional<int> asked;  ///< by the scenario

  /// How many years what was asked for lies outside what was fitted.
  [[nodiscard]] int beyond() const {
    if (!asked || !first || !last) return 0;
    if (*asked > *last) return *asked - *last;
    return *asked < *first ? *first - *asked : 0;
  }
};

struct Prediction {
  EngineKind engine = EngineKind::closed_form;
  std::vector<Infeasible> reasons;       ///< empty: feasible
  std::optional<MemoryForecast> memory;  ///< absent for illegal plans
  std::optional<StepForecast> step;      ///< absent for illegal plans and where memory runs out
  std::optional<FlopsForecast> flops;
  std::optional<Efficiency> efficiency;
  /// What a plan that does not fit into memory, and is right otherwise, would do on GPUs that hold
  /// it; filled by reports. Never a plan's own time: rankings, limits and budgets read `step`.
  std::optional<TimedStep> if_it_fit;
  RunForecast run;
  CostForecast cost;
  std::optional<PowerForecast> power;  ///< filled by reports
  std::vector<LinkUse> links;          ///< event engine only
  std::vector<Warning> warnings;
  Provenance device, kernels, collectives, stack;
  SoftwareYears software;

  [[nodiscard]] bool feasible() const { return reasons.empty(); }
};

}  // namespace foretrain
