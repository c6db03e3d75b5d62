// SPDX-License-Identifier: Apache-2.0
#include "models/run/cost_range.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "models/run/cost_forecast.hpp"
#include "models/run/machine_power.hpp"
#include "models/run/power_shares.hpp"

namespace foretrain {
namespace {

struct LogRange {
  double middle = 0.0;
  double half = 0.0;
};

LogRange log_range(double low, double high) {
  return {0.5 * std::log(low * high), 0.5 * std::log(high / low)};
}

/// Middles multiply, halves of logarithms add as root of squares.
RatioRange product(std::initializer_list<LogRange> parts) {
  LogRange sum;
  for (const LogRange& part : parts) {
    sum.middle += part.middle;
    sum.half = std::hypot(sum.half, part.half);
  }
  return {std::exp(sum.middle - sum.half), std::exp(sum.middle + sum.half)};
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
LogRange gpu_range(const Job& job, const StepForecast& step, const PowerShares& one) {
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
  return log_range(mean(least_busy_share, least_waiting_share) / one.total(),
                   mean(1.0, most_waiting_share) / one.total());
}

/// Of the machine, where the scenario does not say what hosts draw: from the leanest host that was
/// measured to the hungriest, no more than this one's published maximum.
LogRange host_range(const Job& job, const PowerShares& one) {
  if (host_power(job).known) return {};
  const Host& host = job.cluster.host;
  const Watts board = host.device.power_limit;
  Watts most = most_host_share * board;
  if (host.power_limit > Watts{}) most = min(most, host.power_limit / host.gpus - board);
  const Watts least = min(one.host, least_host_share * board);
  return log_range((one.gpu + least) / one.total(), (one.gpu + max(most, one.host)) / one.total());
}

LogRange building_range(const Job& job) {
  if (job.operations.power.pue) return {};
  return log_range(least_pue, most_pue);
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

RatioRange machine_range(const Job& job, const StepForecast& step) {
  const PowerShares one = shares_of(job, step);
  if (!(one.total() > Watts{})) return {};
  return product({gpu_range(job, step, one), host_range(job, one)});
}

RatioRange power_range(const Job& job, const StepForecast& step) {
  const RatioRange machine = machine_range(job, step);
  return product({log_range(machine.low, machine.high), building_range(job)});
}

void set_cost_range(const Job& job, const StepForecast& step, double training, CostForecast& cost) {
  if (!cost.gpu_hours || !(step.time > Seconds{})) return;
  const auto lasts = [&](Seconds end) { return 1.0 + training * (end / step.time - 1.0); };
  const RatioRange time{lasts(step.low), lasts(step.high)};
  const RatioRange power = power_range(job, step);
  const LogRange draw = log_range(power.low, power.high);
  const auto energy = [&](double of_time, double side) {
    return std::exp(draw.middle + side * std::hypot(draw.half, std::log(of_time)));
  };
  cost.low = end_of(cost, time.low, energy(time.low, -1.0));
  cost.high = end_of(cost, time.high, energy(time.high, 1.0));
}

}  // namespace foretrain
