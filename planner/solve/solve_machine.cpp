// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "models/forecast/closed_form.hpp"
#include "models/grid/process_grid.hpp"
#include "models/layers/flops.hpp"
#include "models/layers/row_statistics.hpp"
#include "planner/forecast/search_limits.hpp"
#include "planner/solve/internal/solve_parts.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

constexpr int most_hosts = 1'000'000;
constexpr std::size_t trials_shown = 12;

/// Hosts below which no plan can keep the deadline: all GPUs at peak, causal scores, no loss.
int least_hosts(const Job& job, const SearchLimits& limits) {
  if (!limits.max_run || !job.training.tokens) return 1;
  const Flop step = job_flops(job, RecomputeKind::none, AttentionFlops::causal).model;
  const double steps = *job.training.tokens / tokens_per_step(job);
  const FlopPerSecond peak = job.cluster.host.device.peak_of(job.training.precision);
  if (!(peak > FlopPerSecond{})) return 1;
  const double gpus = step * steps / *limits.max_run / peak;
  return static_cast<int>(
      std::clamp(std::ceil(gpus / job.cluster.host.gpus), 1.0, static_cast<double>(most_hosts)));
}

/// Machines from the smallest up: hosts, or of a host that is used in part its parts first.
struct MachineSizes {
  int whole = 8;  ///< GPUs of a host
  bool parts = false;

  explicit MachineSizes(const Host& host)
      : whole{std::max(host.gpus, host.whole_gpus)}, parts{host.whole_gpus > 0} {}

  [[nodiscard]] HostShare at(int number) const {
    if (!parts) return {number, whole};
    return number <= whole ? HostShare{1, number} : HostShare{number - whole + 1, whole};
  }
  [[nodiscard]] std::int64_t gpus(int number) const {
    const HostShare share = at(number);
    return std::int64_t{share.hosts} * share.gpus_per_host;
  }
  /// The number of the largest with at most so many GPUs.
  [[nodiscard]] int number_of(int gpus) const {
    if (!parts) return gpus / whole;
    return gpus <= whole ? gpus : whole + gpus / whole - 1;
  }
};

/// Whether sizes and batch can divide a machine at all: spares the resolution of most sizes.
bool can_divide(const Job& job, const SearchSpace& space, std::int64_t gpus) {
  for (const int tensor : space.tensor)
    for (const int pipeline : space.pipeline)
      for (const int context : space.context) {
        const std::int64_t replica = replica_ranks(tensor, context, pipeline);
        if (gpus % replica == 0 && job.training.global_batch % (gpus / replica) == 0) return true;
      }
  return false;
}

/// The best plan of a machine, or the nearest where none keeps the limits.
struct Trial {
  Job job;
  std::vector<std::string> settings;
  Prediction forecast;
  std::optional<TimedStep> good;  ///< its step, where it runs and keeps the limits
  std::string excess;             ///< else: what is against it
};

std::optional<Trial> trial_of(const Scenario& scenario, const HostShare& machine,
                              const SolveOptions& options) {
  Job job = scenario.job;
  const bool part = job.cluster.host.whole_gpus > 0;
  job.cluster = cluster_with_hosts(scenario, machine.hosts, part ? machine.gpus_per_host : 0);
  const SearchSpace space = default_space(job);
  SearchOptions search_options;
  search_options.top = 1;
  search_options.limits = options.limits;
  search_options.threads = options.threads;
  search_options.stop = options.stop;
  search_options.time_box = options.time_limit;
  const SearchResult result = search(job, space, search_options);
  if (result.best.empty() && !result.nearest) return std::nullopt;
  const bool good = !result.best.empty();
  const std::int64_t index = good ? result.best.front().index : result.nearest->plan.index;
  Trial trial{job_at(job, space, index), settings_at(job, space, index), {}, std::nullopt, ""};
  if (!good) trial.excess = result.nearest->excess.message;
  if (part)
    trial.settings.insert(trial.settings.begin(),
                          fmt::format("cluster.gpus_per_host={}", machine.gpus_per_host));
  trial.settings.insert(trial.settings.begin(), fmt::format("cluster.hosts={}", machine.hosts));
  trial.forecast = closed_form(trial.job);
  const Prediction& forecast = trial.forecast;
  if (good && forecast.step && forecast.efficiency)
    trial.good = TimedStep{*forecast.step, *forecast.efficiency};
  return trial;
}

std::vector<SolveValue> trial_row(const Trial& trial) {
  const Prediction& forecast = trial.forecast;
  const auto duration = run_duration(forecast);
  return {solve_count("gpus", "", trial.job.cluster.gpus()),
          solve_word("plan", "", plan_words(trial.job)),
          forecast.step ? solve_value("step_s", "", forecast.step->time.value(),
                                      seconds_text(forecast.step->time))
                        : solve_word("step_s", "", "-"),
          duration ? solve_value("run_s", "", duration->value(), duration_text(*duration))
                   : solve_word("run_s", "", "-"),
          solve_word("keeps_limits", "", trial.good ? "yes" : "no")};
}

void add_answer(SolveAnswer& answer, const Trial& trial, const TimedStep& timed) {
  const Prediction& forecast = trial.forecast;
  const Job& job = trial.job;
  const auto duration = run_duration(forecast);
  const Seconds step = timed.step.time;
  const MemoryForecast& memory = forecast.memory.value();
  const Bytes free = memory.usable - memory.peak;
  answer.found = true;
  answer.sentence =
      fmt::format("{} GPU{} ({} host{}) {} the fewest: {} per step{}, {}, with {} of memory free.",
                  with_thousands(job.cluster.gpus()), job.cluster.gpus() == 1 ? "" : "s",
                  with_thousands(job.cluster.hosts), job.cluster.hosts == 1 ? "" : "s",
                  job.cluster.gpus() == 1 ? "is" : "are", seconds_text(step),
                  duration ? ", " + duration_text(*duration) + " in all" : "", plan_words(job),
                  bytes_text(free));
  answer.settings = trial.settings;
  answer.values.push_back(solve_count("gpus", "GPUs", job.cluster.gpus()));
  answer.values.push_back(solve_count("hosts", "hosts", job.cluster.hosts));
  answer.values.push_back(solve_value("step_s", "step", step.value(), seconds_text(step)));
  if (duration)
    answer.values.push_back(
        solve_value("run_s", "run", duration->value(), duration_text(*duration)));
  answer.values.push_back(
      solve_value("headroom_bytes", "free at the peak", free.value(), bytes_text(free)));
  if (forecast.cost.price)
    answer.values.push_back(solve_value("price_usd", "price", forecast.cost.price->value(),
                                        dollars_text(*forecast.cost.price)));
}

}  // namespace

SolveAnswer fewest_gpus(const Scenario& scenario, const SolveOptions& asked) {
  SolveOptions options = asked;
  const Job& job = scenario.job;
  const MachineSizes machines{job.cluster.host};
  const int most = options.most_gpus > 0 ? machines.number_of(options.most_gpus)
                   : machines.parts      ? machines.number_of(16 * machines.whole)
                                         : static_cast<int>(std::min<std::int64_t>(
                                          16 * std::int64_t{job.cluster.hosts}, most_hosts));
  SolveAnswer answer;
  answer.question = SolveFor::gpus;
  answer.name = job.name;
  answer.heads = {"GPUs", "best plan", "step", "run", "within limits"};
  std::vector<Trial> trials;
  const auto begin = std::chrono::steady_clock::now();
  const auto ends = [&] {
    if (options.stop != nullptr && options.stop->load()) return true;
    if (!asked.time_limit) return false;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    options.time_limit = *asked.time_limit - Seconds{taken.count()};
    return *options.time_limit <= Seconds{};
  };
  int largest = most;  // that could be built
  std::string beyond;  // why not a larger one
  int number = machines.parts ? 1 : least_hosts(job, options.limits);
  bool stopped = false;
  for (; number <= most; ++number) {
    stopped = ends();
    if (stopped) break;
    const HostShare machine = machines.at(number);
    Job sized = job;
    sized.cluster.hosts = machine.hosts;
    sized.cluster.host.gpus = machine.gpus_per_host;
    if (!can_divide(job, default_space(sized), machines.gpus(number))) continue;
    try {
      auto trial = trial_of(scenario, machine, options);
      if (!trial) continue;
      trials.push_back(std::move(*trial));
    } catch (const ScenarioError& error) {
      largest = number - 1;
      beyond = fmt::format(" Machines of {} hosts and more were not tried: {}.",
                           with_thousands(machine.hosts), error.diagnostics().front().message);
      break;
    }
    // A search that was cut short has not seen every plan of the machine.
    stopped = ends();
    if (stopped || trials.back().good) break;
  }
  const std::size_t first = trials.size() > trials_shown ? trials.size() - trials_shown : 0;
  for (std::size_t i = first; i < trials.size(); ++i) answer.rows.push_back(trial_row(trials[i]));
  if (!trials.empty() && trials.back().good) {
    add_answer(answer, trials.back(), *trials.back().good);
  } else if (stopped) {
    answer.sentence = fmt::format(
        "Not finished: no machine below {} GPUs keeps the limits{}; larger ones were "
        "not tried.",
        with_thousands(machines.gpus(number)), trials.empty() ? "" : ": " + trials.back().excess);
  } else {
    answer.sentence = fmt::format("No machine of up to {} GPUs keeps the limits{}.{}",
                                  with_thousands(machines.gpus(largest)),
                                  trials.empty() ? "" : ": " + trials.back().excess, beyond);
  }
  answer.notes.emplace_back(
      "searched every cluster size that divides the batch with all axes of `plan`, from the "
      "theoretical minimum up; closed form");
  if (!run_duration(closed_form(job)) || !closed_form(job).run.goodput)
    answer.notes.emplace_back(
        "goodput is unknown (operations), so runs are counted without interruptions");
  return answer;
}

}  // namespace foretrain
