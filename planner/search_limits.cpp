// SPDX-License-Identifier: Apache-2.0
#include "planner/search_limits.hpp"

#include <fmt/format.h>

#include <utility>

#include "models/closed_form.hpp"
#include "planner/format.hpp"

namespace foretrain {
namespace {

constexpr double kilo = 1e3;

std::string power_text(Watts power) {
  return fmt::format("{} kW", significant_text(power.value() / kilo));
}

/// Keeps the limit that is exceeded by more.
void worst_of(std::optional<Excess>& worst, const char* rule, double ratio, std::string message) {
  if (!(ratio > 1.0) || (worst && worst->ratio >= ratio)) return;
  worst = Excess{rule, ratio, std::move(message)};
}

}  // namespace

Bytes SearchLimits::memory_of(const Device& device) const {
  return min(device.usable_memory * max_memory_share, device.usable_memory - headroom);
}

bool SearchLimits::judge_time() const { return max_step || max_run || max_price || max_power; }

std::optional<Excess> memory_excess(const SearchLimits& limits, const Device& device, Bytes peak) {
  const Bytes usable = device.usable_memory;
  const Bytes allowed = limits.memory_of(device);
  if (peak <= allowed) return std::nullopt;
  const char* rule = peak > usable                             ? "out-of-memory"
                     : peak > usable * limits.max_memory_share ? "max-memory-share"
                                                               : "headroom";
  return Excess{rule, peak / allowed,
                fmt::format("{:.1f} GiB of {:.1f} GiB", peak.in(GiB),
                            (peak > usable ? usable : allowed).in(GiB))};
}

std::optional<Excess> run_excess(const SearchLimits& limits, const Job& job, Seconds step) {
  std::optional<Excess> worst;
  if (limits.max_step)
    worst_of(worst, "max-step", step / *limits.max_step,
             fmt::format("a step takes {}, {} are allowed", seconds_text(step),
                         seconds_text(*limits.max_step)));
  if (limits.max_power) {
    const Watts power = job.cluster.host.device.power_limit * job.cluster.gpus();
    worst_of(worst, "power-cap", power / *limits.max_power,
             fmt::format("{} GPUs may draw {}, {} are allowed", job.cluster.gpus(),
                         power_text(power), power_text(*limits.max_power)));
  }
  if (!limits.max_run && !limits.max_price) return worst;
  // The whole forecast: what a run takes and costs depends on all of the scenario's operations.
  const Prediction forecast = closed_form(job);
  const std::optional<Seconds> duration = run_duration(forecast);
  if (limits.max_run && duration)
    worst_of(worst, "deadline", *duration / *limits.max_run,
             fmt::format("the run takes {}, {} are allowed", duration_text(*duration),
                         duration_text(*limits.max_run)));
  const std::optional<Dollars>& price = forecast.cost.price;
  if (limits.max_price && price)
    worst_of(worst, "budget", *price / *limits.max_price,
             fmt::format("the run costs {}, {} are allowed", dollars_text(*price),
                         dollars_text(*limits.max_price)));
  return worst;
}

std::optional<Seconds> run_duration(const Prediction& prediction) {
  return prediction.run.expected ? prediction.run.expected : prediction.run.ideal;
}

std::string limit_problem(const SearchLimits& limits, const Job& job) {
  if ((limits.max_run || limits.max_price) && !job.training.tokens)
    return "a deadline or a budget is for a whole run: the scenario has to say training.tokens";
  if (limits.max_price && !job.operations.price_per_gpu)
    return "a budget needs a price: the scenario has to say operations.price, for example "
           "--set \"operations.price=2.5 USD/GPU-hour\"";
  const Bytes usable = job.cluster.host.device.usable_memory;
  if (!(limits.headroom < usable))
    return fmt::format("headroom of {} leaves nothing of the {} of a {}",
                       bytes_text(limits.headroom), bytes_text(usable),
                       job.cluster.host.device.title);
  return "";
}

}  // namespace foretrain
