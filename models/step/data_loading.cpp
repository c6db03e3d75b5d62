// SPDX-License-Identifier: Apache-2.0
#include "models/step/data_loading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/layers/row_statistics.hpp"
#include "models/step/internal/step_parts.hpp"

namespace foretrain {
namespace {

std::optional<BytesPerSecond> storage_rate(const Job& job, double loading_hosts) {
  const StorageFacts& storage = job.operations.storage;
  std::optional<BytesPerSecond> rate = storage.read;
  if (rate && storage.host_link) rate = min(*rate, *storage.host_link * loading_hosts);
  return rate;
}

std::string bottleneck(const InputTimes& times, Seconds input) {
  if (times.storage == input) return "reading from storage";
  if (times.cores > 0.0 && times.wanted_cores > times.cores)
    return fmt::format("{:.0f} loader processes on {:.0f} cores of a host", times.wanted_cores,
                       times.cores);
  return "the loader processes";
}

void tell_unknown(const Job& job, const InputTimes& times, std::vector<Warning>& warnings) {
  const LoadingFacts& facts = job.operations.loading;
  if ((facts.workers || facts.tokens_per_worker) && !times.workers)
    warnings.push_back({"unknown-input",
                        "whether loader processes keep up: operations.data_loading needs both "
                        "workers and tokens_per_worker"});
  if (facts.bytes_per_token && !times.storage)
    warnings.push_back({"unknown-input",
                        "whether storage keeps up with training data: the scenario gives no "
                        "operations.storage.read"});
}

}  // namespace

Seconds InputTimes::slowest() const {
  return max(workers.value_or(Seconds{}), storage.value_or(Seconds{}));
}

InputTimes input_times(const Job& job) {
  const LoadingFacts& facts = job.operations.loading;
  const Cluster& cluster = job.cluster;
  const double tokens = tokens_per_step(job);
  // One process has one loader, however many GPUs it feeds.
  const double replicas = job.parallel.single_process() ? 1.0 : job.parallel.data;
  const double loading_hosts = std::min<double>(replicas, cluster.hosts);
  InputTimes times;
  if (facts.workers && facts.tokens_per_worker) {
    const double per_host = std::ceil(replicas / cluster.hosts) * *facts.workers;
    times.wanted_cores = per_host;
    times.cores = cluster.host.cpu_cores;
    const double share = times.cores > 0.0 ? std::min(1.0, times.cores / per_host) : 1.0;
    times.workers =
        Seconds{tokens / (replicas * *facts.workers * *facts.tokens_per_worker * share)};
  }
  const auto rate = storage_rate(job, loading_hosts);
  if (facts.bytes_per_token && rate) times.storage = Bytes{tokens * *facts.bytes_per_token} / *rate;
  return times;
}

Seconds with_input(const Job& job, Seconds step) { return max(step, input_times(job).slowest()); }

void add_input(const Job& job, StepForecast& step, std::vector<Warning>& warnings) {
  const InputTimes times = input_times(job);
  const Seconds input = times.slowest();
  tell_unknown(job, times, warnings);
  if (input <= step.time) return;
  warnings.push_back(
      {"input-bound", fmt::format("training waits for its data: {} takes {:.3g} s for a step of "
                                  "{:.3g} s",
                                  bottleneck(times, input), input.value(), step.time.value())});
  step.breakdown.input += input - step.time;
  step.time = with_input(job, step.time);
  internal::settle(step.breakdown, step.time);
}

}  // namespace foretrain
