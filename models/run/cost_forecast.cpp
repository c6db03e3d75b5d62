// SPDX-License-Identifier: Apache-2.0
#include "models/run/cost_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/rules/plan_rules.hpp"
#include "models/run/goodput.hpp"
#include "models/run/machine_power.hpp"
#include "models/run/run_model.hpp"

namespace foretrain {
namespace {

/// Of a part that is unknown alone: what is forecast lies inside.
RatioRange around_forecast(double low, double high) {
  return {std::min(1.0, low), std::max(1.0, high)};
}

/// A GPU of the machine with its share of the host, mean over a step.
struct PowerShares {
  Watts gpu;
  Watts host;

  [[nodiscard]] Watts total() const { return gpu + host; }
};

PowerShares shares_of(const Job& job, const StepForecast& step) {
  const double gpus = job.cluster.host.gpus;
  const Watts gpu = mean_power(gpu_power(job), step);
  return {gpu, one_host(job, gpus * gpu) / gpus - gpu};
}

/// Of the machine, for what GPUs draw at least and at most where nobody measured them.
RatioRange gpu_range(const Job& job, const StepForecast& step, const PowerShares& one) {
  const Watts board = job.cluster.host.device.power_limit;
  const GpuPower gpu = gpu_power(job);
  const auto mean = [&](double busy, double waiting) {
    GpuPower end = gpu;
    if (!gpu.busy_known) end.busy = busy * board;
    if (!gpu.waiting_known) end.waiting = min(end.busy, waiting * max(board, gpu.busy));
    end.memory = max(end.waiting, memory_share * end.busy);
    end.exchange = max(end.waiting, exchange_share * end.busy);
    return mean_power(end, step) + one.host;
  };
  return around_forecast(mean(least_busy_share, least_waiting_share) / one.total(),
                         mean(1.0, most_waiting_share) / one.total());
}

/// Of the machine, where the scenario does not say what hosts draw: from the leanest host that was
/// measured to the hungriest, no more than this one's published maximum.
RatioRange host_range(const Job& job, const PowerShares& one) {
  if (host_power(job).known) return {};
  const Host& host = job.cluster.host;
  const Watts board = host.device.power_limit;
  Watts most = most_host_share * board;
  if (host.power_limit > Watts{}) most = min(most, host.power_limit / host.gpus - board);
  const Watts least = min(one.host, least_host_share * board);
  return around_forecast((one.gpu + least) / one.total(),
                         (one.gpu + max(most, one.host)) / one.total());
}

CostEnd end_of(const CostForecast& cost, double time, double energy) {
  const auto times = [](const auto& value, double factor) {
    return value ? std::optional(*value * factor) : std::nullopt;
  };
  CostEnd end{times(cost.gpu_hours, time), times(cost.price, time), times(cost.energy, energy),
              times(cost.co2_kg, energy)};
  if (end.price && cost.parts.electricity) *end.price += (energy - time) * *cost.parts.electricity;
  return end;
}

/// Hosts that are paid for, over hosts that train.
double paid_share(const Job& job) {
  return 1.0 + static_cast<double>(job.operations.spares.hosts.value_or(0)) / job.cluster.hosts;
}

/// How much of the run the job holds its hosts: nobody pays for a queue or for capacity that was
/// taken away. Nothing where the run never ends: its goodput is known, its duration is not.
std::optional<Seconds> held(const Job& job, const RunForecast& run) {
  if (!run.expected) return run.goodput ? std::nullopt : run.ideal;
  const PreemptionFacts& preemption = job.operations.preemption;
  const double away =
      preemption.every && preemption.wait ? *preemption.wait / *preemption.every : 0.0;
  const Seconds started = *run.expected - job.operations.queue.value_or(Seconds{});
  return started * (1.0 - std::min(1.0, away));
}

/// While steps run, those that are lost included.
Seconds training_time(const RunSplit& split) {
  return split.total() - (split.detection + split.restart + split.planned + split.waiting);
}

Joules run_energy(const Job& job, const StepForecast& step, const RunForecast& run) {
  const Watts training = training_power(job, step);
  if (!run.split) return *run.ideal * training;
  const Seconds trained = training_time(*run.split);
  const Watts waiting = at_the_meter(job, gpu_power(job).waiting);
  return trained * training - run.split->checkpoints * (training - waiting) +
         (*held(job, run) - trained) * idle_power(job);
}

/// Of the time that the job holds its hosts.
double training_share(const Job& job, const RunForecast& run) {
  return run.split ? training_time(*run.split) / *held(job, run) : 1.0;
}

void price_ownership(const Job& job, Seconds duration, CostParts& parts,
                     std::vector<Warning>& warnings) {
  const OwnershipFacts& owned = job.operations.owned;
  if (!owned.gpu && !owned.network && !owned.storage && !owned.staff && !owned.upkeep) return;
  if (owned.staff || owned.upkeep)
    parts.staff = duration * (owned.staff.value_or(DollarsPerSecond{}) +
                              owned.upkeep.value_or(DollarsPerSecond{}));
  if (!owned.gpu && !owned.network && !owned.storage) return;
  if (!owned.lifetime) {
    warnings.push_back(
        {"unknown-lifetime", "a purchase is not depreciated without operations.owned.lifetime"});
    return;
  }
  const double share =
      duration / (*owned.lifetime * owned.utilisation) * paid_share(job) * job.cluster.gpus();
  const auto written_off = [share](const std::optional<Dollars>& price) {
    return price ? std::optional(*price * share) : std::nullopt;
  };
  parts.machine = written_off(owned.gpu);
  parts.network = written_off(owned.network);
  parts.storage = written_off(owned.storage);
}

void add_up(CostForecast& cost) {
  const CostParts& parts = cost.parts;
  if (!parts.rent && !parts.machine) return;
  Dollars sum;
  for (const auto& part :
       {parts.rent, parts.machine, parts.network, parts.storage, parts.staff, parts.electricity})
    sum += part.value_or(Dollars{});
  cost.price = sum;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void tell_energy(const Job& job, std::vector<Warning>& warnings) {
  const PowerFacts& facts = job.operations.power;
  const GpuPower gpu = gpu_power(job);
  std::vector<std::string> estimated;
  const std::string& device = job.cluster.host.device.name;
  if (!gpu.busy_known) estimated.push_back("busy power of " + device);
  if (!gpu.waiting_known) estimated.push_back("waiting power of " + device);
  if (!facts.host) estimated.push_back("power of hosts (operations.power.host)");
  if (!estimated.empty())
    warnings.push_back(
        {"energy-estimated",
         "unknown, estimated from what was measured elsewhere: " + joined(estimated)});
  std::vector<std::string> missing;
  if (!facts.network) missing.emplace_back("operations.power.network");
  if (!facts.pue) missing.emplace_back("operations.power.pue");
  if (!missing.empty())
    warnings.push_back(
        {"energy-incomplete",
         fmt::format(
             "energy leaves out what the scenario does not give: {}{}", joined(missing),
             facts.pue ? "" : fmt::format("; PUE is usually {} to {}", least_pue, most_pue))});
}

/// Below this share of progress a run counts as one that never ends.
constexpr double no_progress = 1e-3;
/// What break-even is told for: the effective training time that large runs report.
constexpr double wanted_goodput = 0.9;

/// Whether the user said anything about interruptions or how they are survived.
bool wants_goodput(const Operations& operations) {
  return operations.mean_time_between_interruptions || operations.interruptions.gives_rate() ||
         operations.checkpoint_every || operations.checkpoint.optimal ||
         operations.checkpoint.every_steps || operations.restart || operations.recovery.detection;
}

std::string duration(Seconds time) {
  if (time >= 2.0 * hours) return fmt::format("{:.1f} h", time.in(hours));
  if (time >= 2.0 * minutes) return fmt::format("{:.0f} min", time.in(minutes));
  return fmt::format("{:.0f} s", time.value());
}

/// All but planned stops and waiting. The sum begins as RunSplit::total() does, so that no rounding
/// makes it longer than that, or shorter than the steps.
Seconds time_with_hosts(const RunSplit& split) {
  return split.steps + split.evaluation + split.checkpoints + split.slow + split.lost +
         split.detection + split.restart;
}

/// What one side of the question allows the other to be.
void tell_break_even(const Job& job, std::optional<Seconds> between,
                     std::vector<Warning>& warnings) {
  const Operations& operations = job.operations;
  std::string message;
  if (between && *between > Seconds{}) {
    message = fmt::format(
        "with an interruption every {}, {:.0f} % of the time is productive as long as "
        "one costs less than {} altogether (lost work, detection, restart)",
        duration(*between), 100.0 * wanted_goodput,
        duration(affordable_interruption(*between, wanted_goodput)));
  } else if (!between && operations.restart && operations.checkpoint_every) {
    const Seconds cost = *operations.restart + *operations.checkpoint_every / 2.0;
    message = fmt::format(
        "an interruption costs about {}: {:.0f} % of the time is productive as long as "
        "they are further apart than {}",
        duration(cost), 100.0 * wanted_goodput, duration(cost / (1.0 - wanted_goodput)));
  }
  if (!message.empty()) warnings.push_back({"goodput-break-even", message});
}

void expect(const Job& job, const StepForecast& step, RunForecast& run,
            std::vector<Warning>& warnings) {
  std::vector<Warning> notes;
  const RunInputs inputs = run_model(job, step, *run.ideal, notes);
  std::vector<Warning> ignored;
  run.between = time_between_interruptions(job, ignored);
  if (!inputs.model) {
    if (!wants_goodput(job.operations)) return;
    warnings.push_back(
        {"goodput-unknown", fmt::format("the expected duration is unknown without {}",
                                        fmt::join(inputs.missing, ", "))});
    tell_break_even(job, run.between, warnings);
    return;
  }
  warnings.insert(warnings.end(), notes.begin(), notes.end());
  const RunModel& model = *inputs.model;
  const RunSplit split = expect_run(model);
  const Seconds total = split.total();
  run.checkpoint_every = model.every;
  run.checkpoint_stall = model.stall;
  run.goodput = is_finite(total) ? *run.ideal / total : 0.0;
  if (*run.goodput < no_progress) return;
  run.expected = total;
  run.split = split;
  run.interruptions = expected_interruptions(model, split);
  const Seconds there = time_with_hosts(split);
  run.scheduling = there / total;
  run.runtime = split.steps / there;
}

/// Phases of the ramp that this plan cannot run.
std::vector<std::string> ramp_problems(const Job& job) {
  std::vector<std::string> problems = broken_ramp(job);
  if (!problems.empty()) return problems;
  for (const BatchPhase& phase : job.operations.batch_ramp) {
    Job smaller = job;
    smaller.training.global_batch = phase.global_batch;
    for (const Infeasible& broken : broken_rules(smaller))
      problems.push_back(
          fmt::format("with global_batch {}, {}", phase.global_batch, broken.message));
  }
  return problems;
}

/// Both ends of what a run costs: the band of the step for as long as steps last, and for energy,
/// carbon and electricity the range of the draw, as the root of squares of their logarithms.
/// @param cost what is forecast; its ends are set
/// @param training share of the time paid for in which steps run
void set_cost_range(const Job& job, const StepForecast& step, double training, CostForecast& cost) {
  if (!cost.gpu_hours || !(step.time > Seconds{})) return;
  const auto lasts = [&](Seconds end) { return 1.0 + training * (end / step.time - 1.0); };
  const RatioRange time{lasts(step.low), lasts(step.high)};
  const RatioRange energy = both(time, machine_range(job, step));
  cost.low = end_of(cost, time.low, energy.low);
  cost.high = end_of(cost, time.high, energy.high);
}

}  // namespace

RatioRange both(const RatioRange& one, const RatioRange& other) {
  return {std::exp(-std::hypot(std::log(one.low), std::log(other.low))),
          std::exp(std::hypot(std::log(one.high), std::log(other.high)))};
}

RatioRange machine_range(const Job& job, const StepForecast& step) {
  const PowerShares one = shares_of(job, step);
  if (!(one.total() > Watts{})) return {};
  return both(gpu_range(job, step, one), host_range(job, one));
}

CostForecast forecast_cost(const Job& job, const StepForecast& step, const RunForecast& run,
                           std::vector<Warning>& warnings) {
  const Operations& operations = job.operations;
  CostForecast cost;
  cost.power = training_power(job, step);
  cost.step_energy = *cost.power * step.time;
  const std::optional<Seconds> duration = held(job, run);
  if (!duration) return cost;
  const Seconds gpu_time = *duration * static_cast<double>(job.cluster.gpus());
  cost.gpu_hours = gpu_time / hours;
  cost.energy = run_energy(job, step, run);
  tell_energy(job, warnings);
  if (operations.power.carbon_kg_per_joule)
    cost.co2_kg = cost.energy->value() * *operations.power.carbon_kg_per_joule;
  if (operations.price_per_gpu)
    cost.parts.rent = gpu_time * *operations.price_per_gpu * paid_share(job);
  price_ownership(job, *duration, cost.parts, warnings);
  if (operations.power.electricity)
    cost.parts.electricity = *cost.energy * *operations.power.electricity;
  add_up(cost);
  set_cost_range(job, step, training_share(job, run), cost);
  if (cost.price && !operations.prices_as_of)
    warnings.push_back(
        {"undated-price", "prices change: give their date in operations.prices_as_of"});
  return cost;
}

RunForecast forecast_run(const Job& job, const StepForecast& step, std::vector<Warning>& warnings) {
  RunForecast run;
  const CheckpointTimes checkpoint = checkpoint_times(job);
  run.checkpoint = checkpoint.size;
  run.checkpoint_write = checkpoint.write;
  run.checkpoint_read = checkpoint.read;
  run.tokens = job.training.tokens;
  if (!run.tokens) return run;
  const std::vector<std::string> problems = ramp_problems(job);
  for (const std::string& problem : problems)
    warnings.push_back({"batch-ramp", "operations.batch_ramp: " + problem});
  if (!problems.empty()) return run;
  const StepCount count = count_steps(job, step);
  run.steps = count.steps;
  run.ideal = count.ideal;
  expect(job, step, run, warnings);
  return run;
}

}  // namespace foretrain
