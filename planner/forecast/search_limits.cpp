// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/search_limits.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "models/forecast/closed_form.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/run/machine_power.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

constexpr double kilo = 1e3;

std::string power_text(Watts power) {
  return fmt::format("{} kW", significant_text(power.value() / kilo));
}

constexpr double unknown = std::numeric_limits<double>::infinity();

/// Keeps the limit that is exceeded by more. What is no number keeps none.
void worst_of(std::optional<Excess>& worst, const char* rule, double ratio, std::string message) {
  if (std::isnan(ratio)) ratio = unknown;
  if (ratio <= 1.0 || (worst && worst->ratio >= ratio)) return;
  worst = Excess{rule, ratio, std::move(message)};
}

void judge_step(const SearchLimits& limits, std::optional<Seconds> step,
                std::optional<Excess>& worst) {
  if (!limits.max_step) return;
  if (!step) return worst_of(worst, "max-step", unknown, "how long a step takes is not known");
  worst_of(worst, "max-step", *step / *limits.max_step,
           fmt::format("a step takes {}, {} are allowed", seconds_text(*step),
                       seconds_text(*limits.max_step)));
}

void judge_power(const SearchLimits& limits, const Job& job, std::optional<Excess>& worst) {
  if (!limits.max_power) return;
  const PowerRange power = most_power(job);
  if (!(power.low > Watts{}))
    return worst_of(worst, "power-cap", unknown, "what the machine may draw is not known");
  const std::string range = power.low < power.high ? fmt::format("{} to {}", power_text(power.low),
                                                                 power_text(power.high))
                                                   : power_text(power.high);
  worst_of(worst, "power-cap", power.high / *limits.max_power,
           fmt::format("{} hosts with {} GPUs may draw {}, {} are allowed", job.cluster.hosts,
                       job.cluster.gpus(), range, power_text(*limits.max_power)));
}

void judge_run(const SearchLimits& limits, const Prediction& forecast,
               std::optional<Excess>& worst) {
  if (limits.max_run) {
    if (const auto duration = run_duration(forecast))
      worst_of(worst, "deadline", *duration / *limits.max_run,
               fmt::format("the run takes {}, {} are allowed", duration_text(*duration),
                           duration_text(*limits.max_run)));
    else
      worst_of(worst, "deadline", unknown,
               never_finishes(forecast.run) ? "the run never finishes"
                                            : "how long the run takes is not known");
  }
  if (limits.max_price) {
    const std::optional<Dollars>& price = forecast.cost.price;
    if (price && run_duration(forecast))
      worst_of(worst, "budget", *price / *limits.max_price,
               fmt::format("the run costs {}, {} are allowed", dollars_text(*price),
                           dollars_text(*limits.max_price)));
    else
      worst_of(worst, "budget", unknown, "what the run costs is not known");
  }
}

}  // namespace

Bytes SearchLimits::memory_of(const Device& device) const {
  return min(device.usable_memory * memory_share(),
             device.usable_memory - headroom.value_or(Bytes{}));
}

double SearchLimits::memory_share() const {
  return default_room() ? default_memory_share : max_memory_share.value_or(1.0);
}

bool SearchLimits::judge_time() const { return max_step || max_run || max_price || max_power; }

std::string_view memory_rule(const SearchLimits& limits, const Device& device,
                             const MemoryNeed& need) {
  const Bytes usable = device.usable_memory;
  const Bytes allowed = limits.memory_of(device);
  if (need.peak <= allowed && (!limits.default_room() || need.high <= usable)) return {};
  if (!(need.peak <= usable)) return "out-of-memory";
  const bool by_share = limits.max_memory_share && need.peak > usable * *limits.max_memory_share;
  return by_share ? "max-memory-share" : "headroom";
}

std::optional<Excess> memory_excess(const SearchLimits& limits, const Device& device,
                                    const MemoryNeed& need) {
  const std::string_view rule = memory_rule(limits, device, need);
  if (rule.empty()) return std::nullopt;
  const Bytes usable = device.usable_memory;
  const Bytes allowed = limits.memory_of(device);
  const auto excess = [rule](Bytes size, Bytes of, const char* more) {
    return Excess{std::string(rule), size / of,
                  fmt::format("{:.1f} GiB{} of {:.1f} GiB", size.in(GiB), more, of.in(GiB))};
  };
  if (!(need.peak <= usable)) return excess(need.peak, usable, "");
  if (need.peak <= allowed)
    return excess(need.high, usable, " at the upper end of the memory band");
  return excess(need.peak, allowed, "");
}

PlanJudgement judge_plan(const Job& job, const SearchLimits& limits, PlanScope scope,
                         MemoryNeeds* kept) {
  PlanJudgement judged{scope == PlanScope::run ? refusals(job) : broken_rules(job), {}, {}};
  if (!judged.refused.empty()) return judged;
  const StageLayout layout = stage_layout(job.model, job.parallel);
  judged.need = kept != nullptr ? kept->of(job, layout) : memory_need(job, layout);
  judged.excess = memory_excess(limits, job.cluster.host.device, judged.need);
  return judged;
}

std::optional<Excess> run_excess(const SearchLimits& limits, const Job& job,
                                 const Prediction& forecast) {
  std::optional<Excess> worst;
  judge_step(limits, forecast.step ? std::optional(forecast.step->time) : std::nullopt, worst);
  judge_power(limits, job, worst);
  judge_run(limits, forecast, worst);
  return worst;
}

std::optional<Excess> run_excess(const SearchLimits& limits, const Job& job, Seconds step) {
  // The whole forecast: what a run takes and costs depends on all of the scenario's operations.
  if (limits.max_run || limits.max_price) return run_excess(limits, job, closed_form(job));
  std::optional<Excess> worst;
  judge_step(limits, step, worst);
  judge_power(limits, job, worst);
  return worst;
}

std::string limit_problem(const SearchLimits& limits, const Job& job) {
  if ((limits.max_run || limits.max_price) && !job.training.tokens)
    return "a deadline or a budget is for a whole run: the scenario has to say training.tokens";
  if (limits.max_price && !job.operations.price_per_gpu)
    return "a budget needs a price: the scenario has to say operations.price, for example "
           "--set \"operations.price=2.5 USD/GPU-hour\"";
  const Bytes usable = job.cluster.host.device.usable_memory;
  if (limits.headroom && !(*limits.headroom < usable))
    return fmt::format("headroom of {} leaves nothing of the {} of a {}",
                       bytes_text(*limits.headroom), bytes_text(usable),
                       job.cluster.host.device.title);
  return "";
}

}  // namespace foretrain
