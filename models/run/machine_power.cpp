// SPDX-License-Identifier: Apache-2.0
#include "models/run/machine_power.hpp"

namespace foretrain {
namespace {

Watts at_the_meter(const Job& job, Watts gpu) {
  const PowerFacts& facts = job.operations.power;
  const Watts per_host = facts.host.value_or(Watts{}) + facts.network.value_or(Watts{});
  const Watts machine = static_cast<double>(job.cluster.gpus()) * gpu +
                        static_cast<double>(job.cluster.hosts) * per_host;
  return machine * facts.pue.value_or(1.0);
}

}  // namespace

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
  power.busy_known = power.busy > Watts{};
  power.waiting_known = power.waiting > Watts{};
  if (power.busy <= Watts{}) power.busy = device.power_limit;
  if (power.waiting <= Watts{}) power.waiting = power.busy;
  if (power.idle <= Watts{}) power.idle = power.waiting;
  return power;
}

double kernel_share(const StepForecast& step) {
  const TimeBreakdown& parts = step.breakdown;
  return (parts.compute + parts.recompute + parts.optimizer) / step.time;
}

Watts training_power(const Job& job, const StepForecast& step) {
  const GpuPower gpu = gpu_power(job);
  const double kernels = kernel_share(step);
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

}  // namespace foretrain
