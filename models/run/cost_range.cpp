// SPDX-License-Identifier: Apache-2.0
#include "models/run/cost_range.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/run/cost_forecast.hpp"
#include "models/run/machine_power.hpp"

namespace foretrain {
namespace {

// A node of eight H100 that trains language models was seen to draw 76 % of its rated power on the
// average over demanding work (arXiv 2506.14551), at most 82 % (arXiv 2412.08602).
constexpr double least_busy = 0.76;
// Idle power of an H100 with memory held over its board power: the least that waiting can be.
constexpr double least_waiting = 0.2;

struct LogRange {
  double middle = 0.0;
  double half = 0.0;
};

LogRange log_range(double low, double high) {
  return {0.5 * std::log(low * high), 0.5 * std::log(high / low)};
}

/// Of what GPUs draw over what the forecast counts.
LogRange gpu_range(const Job& job, double kernels) {
  const GpuPower gpu = gpu_power(job);
  if (!(gpu.busy > Watts{})) return {};
  const Watts board = job.cluster.host.device.power_limit;
  const Watts busy = gpu.busy_known ? gpu.busy : least_busy * gpu.busy;
  const Watts waiting =
      gpu.waiting_known ? gpu.waiting : min(gpu.waiting, least_waiting * max(board, gpu.busy));
  const auto mean = [kernels](Watts while_busy, Watts while_waiting) {
    return kernels * while_busy + (1.0 - kernels) * while_waiting;
  };
  return log_range(mean(busy, waiting) / mean(gpu.busy, gpu.waiting), 1.0);
}

/// Of the whole machine over its GPUs, where the scenario does not say what hosts draw: not less
/// than the leanest published host, not more than this one's maximum.
LogRange host_range(const Job& job) {
  if (job.operations.power.host) return {};
  const Host& host = job.cluster.host;
  const Watts gpus = host.device.power_limit * host.gpus;
  double most = most_host_power;
  if (host.power_limit > Watts{} && gpus > Watts{}) most = std::max(1.0, host.power_limit / gpus);
  return log_range(std::min(least_host_power, most), most);
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

RatioRange power_range(const Job& job, const StepForecast& step) {
  const double kernels = kernel_share(step);
  LogRange sum;
  for (const LogRange& part :
       std::array{gpu_range(job, kernels), host_range(job), building_range(job)}) {
    sum.middle += part.middle;
    sum.half = std::hypot(sum.half, part.half);
  }
  return {std::exp(sum.middle - sum.half), std::exp(sum.middle + sum.half)};
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
