// SPDX-License-Identifier: Apache-2.0
#include "models/run/cost_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace foretrain {
namespace {

// Published maximum of hosts over that of their GPUs: racks of GB200 with 120 kW, DGX A100.
constexpr double least_host_power = 1.39;
constexpr double most_host_power = 2.04;
// Power usage effectiveness where the scenario does not say it: fleets of large operators (Google,
// Environmental Report 2024: 1.10), and a little over the mean of the Uptime Institute's Global
// Data Center Survey 2024 (1.56).
constexpr double least_pue = 1.1;
constexpr double most_pue = 1.6;

struct GpuPower {
  Watts busy;
  Watts waiting;
  Watts idle;
  bool waiting_known = false;
};

GpuPower gpu_power(const Job& job) {
  const Device& device = job.cluster.host.device;
  const PowerFacts& facts = job.operations.power;
  const auto known = [](const std::optional<Watts>& said, Watts catalog) {
    if (said) return *said;
    return catalog;
  };
  GpuPower power{known(facts.gpu_busy, device.power_busy),
                 known(facts.gpu_waiting, device.power_waiting),
                 known(facts.gpu_idle, device.power_idle)};
  power.waiting_known = power.waiting > Watts{};
  if (power.busy <= Watts{}) power.busy = device.power_limit;
  if (power.waiting <= Watts{}) power.waiting = power.busy;
  if (power.idle <= Watts{}) power.idle = power.waiting;
  return power;
}

Watts at_the_meter(const Job& job, Watts gpu) {
  const PowerFacts& facts = job.operations.power;
  const Watts per_host = facts.host.value_or(Watts{}) + facts.network.value_or(Watts{});
  const Watts machine = static_cast<double>(job.cluster.gpus()) * gpu +
                        static_cast<double>(job.cluster.hosts) * per_host;
  return machine * facts.pue.value_or(1.0);
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

Joules run_energy(const Job& job, const StepForecast& step, const RunForecast& run) {
  const Watts training = training_power(job, step);
  if (!run.split) return *run.ideal * training;
  const RunSplit& split = *run.split;
  const Seconds down = split.detection + split.restart + split.planned + split.waiting;
  const Seconds training_time = split.total() - down;
  return training_time * training + (*held(job, run) - training_time) * idle_power(job);
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

/// "; ... 1.5 to 3.3 times ...": what the machine and its building draw over what the GPUs do.
std::string range_with_building(const Job& job) {
  const double gpus = (job.cluster.host.device.power_limit * job.cluster.gpus()).value();
  if (!(gpus > 0.0)) return "";
  const bool said = job.operations.power.pue.has_value();
  const PowerRange most = most_power(job);
  return fmt::format(
      "; at most such a machine draws with its building {:.2g} to {:.2g} times what "
      "its GPUs do",
      most.low.value() / gpus * (said ? 1.0 : least_pue),
      most.high.value() / gpus * (said ? 1.0 : most_pue));
}

void tell_energy(const Job& job, std::vector<Warning>& warnings) {
  const PowerFacts& facts = job.operations.power;
  if (!gpu_power(job).waiting_known)
    warnings.push_back(
        {"energy-upper-bound",
         fmt::format("waiting power of {} is unknown: its board power counts all the "
                     "time",
                     job.cluster.host.device.name)});
  std::string missing;
  for (const auto& [known, key] :
       std::array<std::pair<bool, const char*>, 3>{{{facts.host.has_value(), "host"},
                                                    {facts.network.has_value(), "network"},
                                                    {facts.pue.has_value(), "pue"}}})
    if (!known) missing += std::string(missing.empty() ? "" : ", ") + "operations.power." + key;
  if (!missing.empty())
    warnings.push_back({"energy-incomplete", "energy leaves out what the scenario does not give: " +
                                                 missing + range_with_building(job)});
}

}  // namespace

Watts training_power(const Job& job, const StepForecast& step) {
  const GpuPower gpu = gpu_power(job);
  const TimeBreakdown& parts = step.breakdown;
  const double kernels = (parts.compute + parts.recompute + parts.optimizer) / step.time;
  return at_the_meter(job, kernels * gpu.busy + (1.0 - kernels) * gpu.waiting);
}

PowerRange most_power(const Job& job) {
  const PowerFacts& facts = job.operations.power;
  const Host& host = job.cluster.host;
  const Watts gpus = host.device.power_limit * host.gpus;
  PowerRange most{gpus * least_host_power, gpus * most_host_power};
  if (host.power_limit > Watts{}) most = {host.power_limit, host.power_limit};
  if (facts.host) most = {gpus + *facts.host, gpus + *facts.host};
  const auto whole = [&](Watts one) {
    return job.cluster.hosts * facts.pue.value_or(1.0) * (one + facts.network.value_or(Watts{}));
  };
  return {whole(most.low), whole(most.high)};
}

Watts idle_power(const Job& job) { return at_the_meter(job, gpu_power(job).idle); }

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
  if (cost.price && !operations.prices_as_of)
    warnings.push_back(
        {"undated-price", "prices change: give their date in operations.prices_as_of"});
  return cost;
}

}  // namespace foretrain
