// SPDX-License-Identifier: Apache-2.0
#include "models/run/machine_power.hpp"

#include <algorithm>

namespace foretrain {
namespace {

Watts first_known(const std::optional<Watts>& said, Watts catalog, Watts otherwise) {
  if (said) return *said;
  return catalog > Watts{} ? catalog : otherwise;
}

}  // namespace

GpuPower gpu_power(const Job& job) {
  const Device& device = job.cluster.host.device;
  const PowerFacts& facts = job.operations.power;
  const Watts board = device.power_limit;
  GpuPower power;
  power.busy = first_known(facts.gpu_busy, device.power_busy, busy_share * board);
  power.waiting = min(power.busy, first_known(facts.gpu_waiting, device.power_waiting,
                                              waiting_share * max(board, power.busy)));
  power.idle = min(power.waiting, first_known(facts.gpu_idle, device.power_idle,
                                              idle_share * max(board, power.busy)));
  power.memory = max(power.waiting, memory_share * power.busy);
  power.exchange = max(power.waiting, exchange_share * power.busy);
  power.busy_known = facts.gpu_busy || device.power_busy > Watts{};
  power.waiting_known = facts.gpu_waiting || device.power_waiting > Watts{};
  const Watts floor = facts.floor.value_or(0.0) * power.busy;
  power.gap = max(power.idle, floor);
  for (Watts* draw : {&power.waiting, &power.memory, &power.exchange}) *draw = max(*draw, floor);
  return power;
}

HostPower host_power(const Job& job) {
  const PowerFacts& facts = job.operations.power;
  const Host& host = job.cluster.host;
  const Watts gpus = host.gpus * host.device.power_limit;
  Watts busy = host_share * gpus;
  if (host.power_limit > gpus) busy = min(busy, host.power_limit - gpus);
  busy = facts.host.value_or(busy);
  return {facts.host_idle.value_or(idle_host_share * busy), busy, facts.host.has_value()};
}

Joules beyond_waiting(const GpuPower& gpu, const TimeParts& parts) {
  return (parts.compute + parts.recompute) * (gpu.busy - gpu.waiting) +
         (parts.tensor + parts.context + parts.expert) * (gpu.exchange - gpu.waiting) +
         parts.launch * (gpu.gap - gpu.waiting);
}

Watts mean_power(const GpuPower& gpu, const StepForecast& step) {
  const TimeBreakdown& parts = step.breakdown;
  const TimeParts passes{parts.compute, parts.recompute, parts.tensor, parts.context,
                         parts.expert,  Seconds{},       parts.launch};
  return gpu.waiting +
         (beyond_waiting(gpu, passes) + step.updating * (gpu.memory - gpu.waiting)) / step.time;
}

Watts one_host(const Job& job, Watts gpus) {
  const GpuPower gpu = gpu_power(job);
  const HostPower host = host_power(job);
  const Watts span = job.cluster.host.gpus * (gpu.busy - gpu.idle);
  if (!(span > Watts{})) return gpus + host.busy;
  return gpus + host.idle +
         ((gpus - job.cluster.host.gpus * gpu.idle) / span) * (host.busy - host.idle);
}

Watts at_the_meter(const Job& job, Watts gpu) {
  const PowerFacts& facts = job.operations.power;
  const Watts host = one_host(job, job.cluster.host.gpus * gpu) + facts.network.value_or(Watts{});
  return facts.pue.value_or(1.0) * (job.cluster.hosts * host);
}

Watts training_power(const Job& job, const StepForecast& step) {
  return at_the_meter(job, mean_power(gpu_power(job), step));
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
