// SPDX-License-Identifier: Apache-2.0
#include "models/run/cost_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/run/cost_range.hpp"
#include "models/run/machine_power.hpp"

namespace foretrain {
namespace {

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

}  // namespace

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

}  // namespace foretrain
