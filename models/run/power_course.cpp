// SPDX-License-Identifier: Apache-2.0
#include "models/run/power_course.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "models/base/require.hpp"
#include "models/grid/process_grid.hpp"
#include "models/run/cost_forecast.hpp"
#include "models/run/machine_power.hpp"

namespace foretrain {
namespace {

/// Samples of all stages together: a step of minutes at a millisecond, longer ones coarser.
constexpr double most_samples = 2e6;

/// What a task draws beyond waiting, over its time.
Joules added_energy(const Task& task, const TaskCost& cost, const GpuPower& power) {
  if (inside_pass(task)) return beyond_waiting(power, cost.parts);
  if (task.role == TaskRole::optimizer) return cost.duration * (power.memory - power.waiting);
  if (task.role == TaskRole::constant) return cost.duration * (power.gap - power.waiting);
  return Joules{};
}

/// Adds `energy`, spread evenly from `from` to `to`, to stretches of a step that repeats.
void spread(Joules energy, Seconds from, Seconds to, Seconds sample, std::vector<Watts>& stage) {
  const double count = static_cast<double>(stage.size());
  const double first = from / sample;
  const double last = to / sample;
  for (double at = first; at < last;) {
    const double next = std::min(last, std::floor(at) + 1.0);
    const double place = std::fmod(std::floor(at), count);
    const double share = (next - at) / (last - first);
    stage[static_cast<std::size_t>(place)] += share * energy / sample;
    at = next;
  }
}

Watts mean_of(const std::vector<Watts>& values) {
  return std::accumulate(values.begin(), values.end(), Watts{}) /
         static_cast<double>(values.size());
}

Watts deviation_of(const std::vector<Watts>& values) {
  const Watts mean = mean_of(values);
  double sum = 0.0;
  for (const Watts value : values) sum += std::pow((value - mean).value(), 2.0);
  return Watts{std::sqrt(sum / static_cast<double>(values.size()))};
}

/// GPUs of every stage in a host: how the machine's hosts are made up.
using StageCounts = std::vector<int>;

StageCounts counts_of(const Job& job, const ProcessGrid& grid, int first_host, int hosts) {
  StageCounts counts(static_cast<std::size_t>(job.parallel.pipeline));
  const int gpus = job.cluster.host.gpus;
  for (int rank = first_host * gpus; rank < (first_host + hosts) * gpus; ++rank)
    ++counts[static_cast<std::size_t>(grid.place(rank).stage)];
  return counts;
}

/// `hosts` hosts with these GPUs.
std::vector<Watts> hosts_course(const Job& job, const GpuCourse& gpus, const StageCounts& counts,
                                int hosts) {
  std::vector<Watts> course(gpus.samples());
  for (std::size_t i = 0; i < course.size(); ++i) {
    Watts sum;
    for (std::size_t s = 0; s < gpus.stages.size(); ++s) sum += counts[s] * gpus.stages[s][i];
    course[i] = hosts * one_host(job, sum / static_cast<double>(hosts));
  }
  return course;
}

/// Hosts of a rack: as the scenario says, else those that NVLink joins.
std::optional<int> rack_hosts(const Job& job) {
  if (job.operations.power.hosts_per_rack)
    return std::min(*job.operations.power.hosts_per_rack, job.cluster.hosts);
  if (job.cluster.host.domain_hosts > 1) return job.cluster.segment_hosts();
  return std::nullopt;
}

/// Deviation of the sum over the sum of the hosts' deviations: 1 where all move together.
double coherence_of(const Job& job, const ProcessGrid& grid, const GpuCourse& gpus,
                    const std::vector<Watts>& site) {
  std::map<StageCounts, int> kinds;
  for (int host = 0; host < job.cluster.hosts; ++host) ++kinds[counts_of(job, grid, host, 1)];
  Watts sum;
  for (const auto& [counts, number] : kinds)
    sum += number * deviation_of(hosts_course(job, gpus, counts, 1));
  const Watts together = deviation_of(site) / job.operations.power.pue.value_or(1.0);
  return sum > Watts{} ? std::min(1.0, together / sum) : 1.0;
}

PowerLever lever_of(const Job& job, const StepForecast& step, std::string name) {
  const GpuPower gpu = gpu_power(job);
  return {std::move(name), step.time, step.time * training_power(job, step),
          at_the_meter(job, gpu.busy), at_the_meter(job, gpu.waiting)};
}

PowerLever floor_lever(Job job, const StepForecast& step, double floor) {
  job.operations.power.floor = std::max(floor, job.operations.power.floor.value_or(0.0));
  return lever_of(job, step, fmt::format("floor of {:.0f} %", 100.0 * floor));
}

PowerLever cap_lever(Job job, StepForecast step, double cap) {
  const double slower = std::sqrt(1.0 / cap);
  TimeBreakdown& parts = step.breakdown;
  for (Seconds* part : {&parts.compute, &parts.recompute, &parts.bubble}) {
    step.time += (slower - 1.0) * *part;
    *part *= slower;
  }
  // Hosts still follow the GPUs along the line of today.
  const GpuPower gpu = gpu_power(job);
  GpuPower capped = gpu;
  capped.busy = max(gpu.waiting, cap * gpu.busy);
  for (Watts* draw : {&capped.memory, &capped.exchange}) *draw = min(*draw, capped.busy);
  return {fmt::format("cap of {:.0f} %", 100.0 * cap), step.time,
          step.time * at_the_meter(job, mean_power(capped, step)), at_the_meter(job, capped.busy),
          at_the_meter(job, gpu.waiting)};
}

PowerLever ramp_lever(const Job& job, const StepForecast& step, const GpuCourse& gpus,
                      Seconds over) {
  const GpuPower gpu = gpu_power(job);
  const Watts dynamic = gpu.busy - gpu.waiting;
  Joules burnt;
  Seconds held;
  for (const std::vector<Watts>& stage : gpus.stages) {
    const RampedCourse one = ramped(stage, gpus.sample, dynamic / over, dynamic);
    burnt += one.burnt / static_cast<double>(gpus.stages.size());
    held = max(held, one.held);
  }
  PowerLever lever = lever_of(job, step, fmt::format("ramps of {:g} s", over.value()));
  lever.step += held;
  lever.energy += held * lever.waiting +
                  step.time * (at_the_meter(job, burnt / step.time) - at_the_meter(job, Watts{}));
  return lever;
}

}  // namespace

GpuCourse gpu_course(const TaskGraph& graph, const Timeline& timeline, double release, Seconds time,
                     const GpuPower& power, Seconds resolution) {
  FORETRAIN_REQUIRE(timeline.end.size() == graph.tasks.size() && time > Seconds{});
  const double most = std::max(1.0, std::floor(most_samples / graph.ranks));
  const double samples = std::clamp(std::ceil(time / resolution - 1e-9), 1.0, most);
  GpuCourse course;
  course.sample = time / samples;
  course.stages.assign(static_cast<std::size_t>(graph.ranks),
                       std::vector<Watts>(static_cast<std::size_t>(samples), power.waiting));
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id) {
    const Task& task = graph.tasks[id];
    const Joules energy = release * added_energy(task, graph.cost_of(id), power);
    const Seconds from = release * timeline.start[id];
    const Seconds to = release * timeline.end[id];
    if (to <= from || energy == Joules{}) continue;
    // Where stages meet, one task stands for all of them.
    const bool all = task.role == TaskRole::constant && !graph.staggered;
    for (std::size_t stage = 0; stage < course.stages.size(); ++stage)
      if (all || stage == static_cast<std::size_t>(task.rank))
        spread(energy, from, to, course.sample, course.stages[stage]);
  }
  return course;
}

PowerCourse power_course(const Job& job, const GpuCourse& gpus) {
  const ProcessGrid grid{job.parallel};
  PowerCourse course;
  course.sample = gpus.sample;
  course.gpu = gpus.stages.front();
  course.host = hosts_course(job, gpus, counts_of(job, grid, 0, 1), 1);
  if (const auto hosts = rack_hosts(job))
    course.rack = hosts_course(job, gpus, counts_of(job, grid, 0, *hosts), *hosts);
  course.site.resize(gpus.samples());
  for (std::size_t i = 0; i < course.site.size(); ++i) {
    Watts sum;
    for (const auto& stage : gpus.stages) sum += stage[i];
    course.site[i] = at_the_meter(job, sum / static_cast<double>(gpus.stages.size()));
  }
  course.coherence = coherence_of(job, grid, gpus, course.site);
  return course;
}

std::vector<Watts> seen_by_meter(const std::vector<Watts>& course, Seconds sample, Seconds window) {
  const std::size_t count = course.size();
  const double length = std::max(1.0, std::round(window / sample));
  std::vector<Watts> until(count + 1);  // sums
  std::partial_sum(course.begin(), course.end(), until.begin() + 1);
  const double turns = std::floor(length / static_cast<double>(count));
  const auto rest = static_cast<std::size_t>(length - turns * static_cast<double>(count));
  std::vector<Watts> seen(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t end = i + rest;
    const Watts part =
        end <= count ? until[end] - until[i] : until[count] - until[i] + until[end - count];
    seen[i] = (turns * until[count] + part) / length;
  }
  return seen;
}

PowerForecast power_forecast(const Job& job, const StepForecast& step, const PowerCourse& course) {
  constexpr Seconds second{1.0};
  PowerForecast power;
  power.gpu = mean_power(gpu_power(job), step);
  power.host = one_host(job, job.cluster.host.gpus * power.gpu);
  power.mean = training_power(job, step);
  const RatioRange known{std::exp(-known_power_error), std::exp(known_power_error)};
  const RatioRange range = both(machine_range(job, step), known);
  power.low = range.low * power.mean;
  power.high = range.high * power.mean;
  power.peak = *std::ranges::max_element(course.site);
  const std::vector<Watts> seen = seen_by_meter(course.site, course.sample, second);
  power.meter_peak = *std::ranges::max_element(seen);
  power.peak_over_mean = power.peak / power.mean;
  const Seconds apart = max(second, course.sample);
  const auto later = static_cast<std::size_t>(std::round(apart / course.sample));
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const Watts change = seen[(i + later) % seen.size()] - seen[i];
    power.ramp = max(power.ramp, max(change, -change) / apart);
  }
  power.waiting = at_the_meter(job, gpu_power(job).waiting);
  power.swing = power.meter_peak - power.waiting;
  power.coherence = course.coherence;
  return power;
}

RampedCourse ramped(const std::vector<Watts>& course, Seconds sample, WattsPerSecond slope,
                    Watts dynamic) {
  RampedCourse result;
  if (course.empty() || !(dynamic > Watts{})) return result;
  const Watts most = sample * slope;
  Watts at = course.front();
  for (const bool counts : {false, true})  // the first round finds where a repeated step begins
    for (const Watts wanted : course) {
      const Watts next = min(max(wanted, at - most), at + most);
      if (counts && next > wanted) result.burnt += sample * (next - wanted);
      if (counts && next < wanted) result.held += sample * ((wanted - next) / dynamic);
      at = next;
    }
  return result;
}

std::vector<PowerLever> power_levers(const Job& job, const StepForecast& step,
                                     const GpuCourse& gpus) {
  std::vector<PowerLever> levers{lever_of(job, step, "as it is")};
  for (const double floor : {0.6, 0.75, 0.9}) levers.push_back(floor_lever(job, step, floor));
  for (const double cap : {0.9, 0.8, 0.7}) levers.push_back(cap_lever(job, step, cap));
  for (const double over : {0.5, 2.0}) levers.push_back(ramp_lever(job, step, gpus, Seconds{over}));
  return levers;
}

}  // namespace foretrain
