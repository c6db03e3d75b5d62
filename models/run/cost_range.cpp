// SPDX-License-Identifier: Apache-2.0
#include "models/run/cost_range.hpp"

#include <algorithm>
#include <cmath>

#include "models/run/cost_forecast.hpp"
#include "models/run/machine_power.hpp"
#include "models/run/power_shares.hpp"

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

void set_cost_range(const Job& job, const StepForecast& step, double training, CostForecast& cost) {
  if (!cost.gpu_hours || !(step.time > Seconds{})) return;
  const auto lasts = [&](Seconds end) { return 1.0 + training * (end / step.time - 1.0); };
  const RatioRange time{lasts(step.low), lasts(step.high)};
  const RatioRange energy = both(time, machine_range(job, step));
  cost.low = end_of(cost, time.low, energy.low);
  cost.high = end_of(cost, time.high, energy.high);
}

}  // namespace foretrain
