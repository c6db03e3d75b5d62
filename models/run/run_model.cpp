// SPDX-License-Identifier: Apache-2.0
#include "models/run/run_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "models/grid/process_grid.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/layers/row_statistics.hpp"
#include "models/memory/memory.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {
namespace {

Seconds from_rate(double per_second) {
  return per_second > 0.0 ? Seconds{1.0 / per_second} : Seconds{};
}

double count_of(const ComponentFailures& kind, const Cluster& cluster) {
  switch (kind.per) {
    case ComponentKind::gpu:
      return cluster.gpus();
    case ComponentKind::nic:
      return static_cast<double>(cluster.hosts) * cluster.host.nics;
    case ComponentKind::host:
      return cluster.hosts;
    case ComponentKind::domain:
      return std::ceil(cluster.hosts / static_cast<double>(std::max(1, cluster.host.domain_hosts)));
    case ComponentKind::network_switch:
      return kind.per_host * cluster.hosts;
    case ComponentKind::job:
      return 1.0;
  }
  return 1.0;
}

Seconds on_curve(const std::vector<InterruptionPoint>& curve, double gpus,
                 std::vector<Warning>& warnings) {
  const auto above =
      std::ranges::find_if(curve, [gpus](const auto& point) { return point.gpus >= gpus; });
  if (above != curve.end() && above->gpus == gpus) return above->every;
  if (above == curve.begin() || above == curve.end()) {
    const InterruptionPoint& end = above == curve.begin() ? curve.front() : curve.back();
    warnings.push_back({"outside-measured-curve",
                        fmt::format("interruptions were measured on {:.0f} to {:.0f} GPUs; {:.0f} "
                                    "are outside, taken in proportion",
                                    curve.front().gpus, curve.back().gpus, gpus)});
    return end.every * (end.gpus / gpus);
  }
  const InterruptionPoint& below = *(above - 1);
  const double at = std::log(gpus / below.gpus) / std::log(above->gpus / below.gpus);
  return below.every * std::pow(above->every / below.every, at);
}

/// The least of the rates that are known.
std::optional<BytesPerSecond> least(std::initializer_list<std::optional<BytesPerSecond>> rates) {
  std::optional<BytesPerSecond> result;
  for (const auto& rate : rates)
    if (rate && (!result || *rate < *result)) result = rate;
  return result;
}

/// GPUs that write different parts of a checkpoint.
double writers(const Job& job) {
  const double gpus = job.cluster.gpus();
  return job.parallel.zero > 0 ? gpus : gpus / job.parallel.data;
}

BytesPerSecond nics_of_host(const Job& job) {
  const Link& nic = job.cluster.network.nic_link;
  return nic.bandwidth * nic.achievable * static_cast<double>(job.cluster.host.nics);
}

/// From the hosts that write to storage and back. A link or process alone is no storage system:
/// what it leads to must be known.
void fill_storage_times(const Job& job, CheckpointTimes& times) {
  const Operations& operations = job.operations;
  const CheckpointFacts& facts = operations.checkpoint;
  const StorageFacts& storage = operations.storage;
  std::optional<BytesPerSecond> link = storage.host_link;
  if (storage.network == StorageNetwork::compute) link = least({link, nics_of_host(job)});
  if (link) *link *= times.hosts;
  std::optional<BytesPerSecond> processes = facts.writer_rate;
  if (processes) *processes *= facts.writers ? *facts.writers : writers(job);
  if (operations.checkpoint_write_bandwidth || storage.write)
    times.write = times.size /
                  *least({operations.checkpoint_write_bandwidth, storage.write, link, processes});
  if (facts.read_bandwidth || storage.read)
    times.read = times.size / *least({facts.read_bandwidth, storage.read, link, processes});
}

void fill_stall(const Job& job, double parts, CheckpointTimes& times) {
  const CheckpointFacts& facts = job.operations.checkpoint;
  times.stall = facts.stall;
  if (times.stall) return;
  if (job.operations.checkpoint_mode == CheckpointMode::sync) {
    times.stall = times.local_write ? times.local_write : times.write;
    return;
  }
  const Link& pcie = job.cluster.host.pcie;
  const double copies = facts.writers ? std::min<double>(parts, *facts.writers) : parts;
  times.stall = pcie.bandwidth > BytesPerSecond{}
                    ? times.size / copies / (pcie.bandwidth * pcie.achievable)
                    : Seconds{};
}

/// Exchanges over NICs that nothing hides.
Seconds exposed_between_hosts(const Job& job, const StepForecast& step) {
  const ProcessGrid grid{job.parallel};
  const auto leaves = [&](GroupKind kind) {
    return grid.group(kind).on_hosts(job.cluster.packing()).span_hosts > 1;
  };
  const TimeBreakdown& parts = step.breakdown;
  Seconds exposed;
  if (leaves(GroupKind::data_context)) exposed += parts.data;
  if (leaves(GroupKind::tensor)) exposed += parts.tensor;
  if (leaves(GroupKind::context)) exposed += parts.context;
  if (leaves(GroupKind::pipeline)) exposed += parts.pipeline;
  if (job.model.moe && leaves(GroupKind::expert)) exposed += parts.expert;
  return exposed;
}

class Reader {
 public:
  Reader(const Job& job, const StepForecast& step, std::vector<Warning>& warnings)
      : job_{job}, ops_{job.operations}, step_{step}, warnings_{warnings} {}

  RunInputs read(Seconds ideal) {
    model_.ideal = ideal;
    read_interruptions();
    read_recovery();
    read_rest();
    read_fail_slow();
    read_degraded();
    read_preemption();
    read_checkpoint();
    if (!missing_.empty()) return {std::nullopt, missing_};
    return {model_, {}};
  }

 private:
  template <class T>
  T need(const std::optional<T>& value, const char* key) {
    if (!value) missing_.emplace_back(key);
    return value.value_or(T{});
  }

  void read_interruptions() {
    model_.between = need(time_between_interruptions(job_, warnings_),
                          "operations.mean_time_between_interruptions");
    model_.trace = ops_.interruptions.trace;
    const InterruptionFacts& facts = ops_.interruptions;
    if (!facts.planned_every && !facts.planned_pause) return;
    model_.planned_every = need(facts.planned_every, "operations.interruptions.planned_every");
    model_.planned_pause = need(facts.planned_pause, "operations.interruptions.planned_pause");
  }

  void read_recovery() {
    const RecoveryFacts& facts = ops_.recovery;
    const CheckpointTimes times = checkpoint_times(job_);
    model_.warm_up = ops_.warm_up.value_or(Seconds{});
    if (ops_.restart || (!facts.detection && !facts.reschedule && !facts.reload)) {
      model_.reload = need(ops_.restart, "operations.restart");
      return;
    }
    model_.detection = need(facts.detection, "operations.recovery.detection");
    model_.reschedule = need(facts.reschedule, "operations.recovery.reschedule");
    model_.reload = need(facts.reload ? facts.reload : times.reload, missing_reload(times));
  }

  void read_rest() {
    model_.queue = ops_.queue.value_or(Seconds{});
    const SpareFacts& spares = ops_.spares;
    if (spares.hosts || spares.repair) {
      model_.spares = need(spares.hosts, "operations.spares.hosts");
      model_.repair = need(spares.repair, "operations.spares.repair");
      model_.spare_share = spares.share;
    }
    const EvaluationFacts& evaluation = ops_.evaluation;
    if (!evaluation.every_steps && !evaluation.pause) return;
    const int steps = need(evaluation.every_steps, "operations.evaluation.every_steps");
    const Seconds pause = need(evaluation.pause, "operations.evaluation.pause");
    if (steps > 0) model_.evaluation = pause / (step_.time * steps);
  }

  void read_fail_slow() {
    const FailSlowFacts& facts = ops_.fail_slow;
    if (!facts.every && !facts.per_1000_node_days && !facts.pace && !facts.lasts) return;
    std::optional<Seconds> every = facts.every;
    if (facts.per_1000_node_days)
      every = from_rate(*facts.per_1000_node_days * job_.cluster.hosts / 1000.0 / days.value());
    model_.slow_every = need(every, "operations.fail_slow.every");
    model_.slow_lasts = need(facts.lasts, "operations.fail_slow.lasts");
    const double pace = need(facts.pace, "operations.fail_slow.pace");
    model_.slow_restart = facts.restart;
    // Everybody waits for the slow member's kernels; communication and bubbles stay as they are.
    const Seconds kernels = step_.breakdown.compute + step_.breakdown.recompute;
    if (facts.job_pace)
      model_.slow_pace = *facts.job_pace;
    else if (pace > 0.0)
      model_.slow_pace = step_.time / (step_.time + (1.0 / pace - 1.0) * kernels);
  }

  void read_degraded() {
    for (const ComponentFailures& part : ops_.interruptions.components) {
      const double parts = count_of(part, job_.cluster);
      if (!part.degraded_for || parts <= 0.0) continue;
      std::vector<double> paces = part.paces;
      if (part.pace) paces = {*part.pace};
      if (paces.empty()) paces = {need(part.pace, "operations.interruptions.components[].pace")};
      model_.degraded.push_back({part.every / parts, *part.degraded_for, std::move(paces)});
    }
  }

  void read_preemption() {
    const PreemptionFacts& facts = ops_.preemption;
    if (!facts.every && !facts.wait && !facts.notice) return;
    model_.preempted_every = need(facts.every, "operations.preemption.every");
    model_.preempted_wait = need(facts.wait, "operations.preemption.wait");
  }

  void read_checkpoint() {
    const CheckpointTimes times = checkpoint_times(job_);
    need(times.write, "operations.checkpoint.write_bandwidth");
    const double slowdown = checkpoint_slowdown(job_, times, step_);
    warn_of_mode(times);
    warn_of_nics(times, slowdown);
    // Steps go on beside the drain, slower: the rest of that time is as if training stood still.
    model_.stall = times.stall.value_or(Seconds{}) + (1.0 - 1.0 / slowdown) * drain_of(times);
    model_.lag = times.safe;
    model_.preempted_warned = ops_.preemption.notice && *ops_.preemption.notice >= model_.save();
    std::optional<Seconds> every = ops_.checkpoint_every;
    if (ops_.checkpoint.every_steps) every = step_.time * *ops_.checkpoint.every_steps;
    if (!ops_.checkpoint.optimal) {
      model_.every = need(every, "operations.checkpoint.every");
    } else if (missing_.empty()) {
      model_.every = best_interval(model_, max(times.behind, step_.time));
    }
    if (!missing_.empty() || model_.every >= times.behind) return;
    warnings_.push_back({"checkpoint-too-slow",
                         fmt::format("a checkpoint takes longer to write ({:.0f} s) than the "
                                     "interval between two ({:.0f} s); they follow each other "
                                     "without a break",
                                     times.behind.value(), model_.every.value())});
    model_.every = times.behind;
  }

  /// Over the network while steps go on.
  [[nodiscard]] static Seconds drain_of(const CheckpointTimes& times) {
    return times.behind > Seconds{} ? times.write.value_or(Seconds{}) : Seconds{};
  }

  [[nodiscard]] const char* missing_reload(const CheckpointTimes& times) const {
    return ops_.checkpoint.local_share > 0.0 && times.read ? "operations.checkpoint.local.read"
                                                           : "operations.checkpoint.read_bandwidth";
  }

  void warn_of_nics(const CheckpointTimes& times, double slowdown) {
    if (ops_.checkpoint.slowdown || slowdown == 1.0 || drain_of(times) == Seconds{}) return;
    warnings_.push_back(
        {"checkpoint-shares-nics",
         fmt::format("a checkpoint drains for {:.3g} s over the NICs that gradients use: steps "
                     "then take {:.3g} times as long, by exchanges that nothing hides; a "
                     "disturbance of kind checkpoint plays it (--engine event), and "
                     "operations.checkpoint.slowdown takes what it says",
                     drain_of(times).value(), slowdown)});
  }

  /// Of a mode that is not stated the cheaper one is taken, and what the other costs is said.
  void warn_of_mode(const CheckpointTimes& times) {
    if (ops_.checkpoint_mode || ops_.checkpoint.stall || !times.write || !times.stall) return;
    warnings_.push_back(
        {"checkpoint-mode-assumed",
         fmt::format("operations.checkpoint.mode is not stated: async is assumed, where one stops "
                     "training for {:.3g} s; with sync it is {:.3g} s",
                     times.stall->value(), times.write->value())});
  }

  const Job& job_;
  const Operations& ops_;
  const StepForecast& step_;
  std::vector<Warning>& warnings_;
  RunModel model_;
  std::vector<std::string> missing_;
};

Job with_batch(const Job& job, int global_batch) {
  Job smaller = job;
  smaller.training.global_batch = global_batch;
  return smaller;
}

}  // namespace

std::optional<Seconds> time_between_interruptions(const Job& job, std::vector<Warning>& warnings) {
  const Operations& operations = job.operations;
  const InterruptionFacts& facts = operations.interruptions;
  if (operations.mean_time_between_interruptions) return operations.mean_time_between_interruptions;
  const double gpus = job.cluster.gpus();
  if (facts.per_gpu_hour) return from_rate(*facts.per_gpu_hour * gpus / hours.value());
  if (facts.per_1000_node_days)
    return from_rate(*facts.per_1000_node_days * job.cluster.hosts / 1000.0 / days.value());
  if (!facts.components.empty()) {
    double rate = 0.0;
    for (const ComponentFailures& part : facts.components)
      if (!part.degraded_for) rate += count_of(part, job.cluster) / part.every.value();
    return from_rate(rate);
  }
  if (!facts.curve.empty()) return on_curve(facts.curve, gpus, warnings);
  if (!facts.trace.empty()) return facts.trace.back().at / static_cast<double>(facts.trace.size());
  return std::nullopt;
}

CheckpointTimes checkpoint_times(const Job& job) {
  const CheckpointFacts& facts = job.operations.checkpoint;
  CheckpointTimes times;
  times.size = facts.size.value_or(checkpoint_size(job));
  const double parts = writers(job);
  times.hosts = std::min(std::ceil(parts / job.cluster.host.gpus),
                         static_cast<double>(facts.writers.value_or(job.cluster.gpus())));
  fill_storage_times(job, times);
  if (facts.local_write) times.local_write = times.size / (*facts.local_write * times.hosts);
  if (facts.local_read) times.local_read = times.size / (*facts.local_read * times.hosts);
  fill_stall(job, parts, times);
  const bool async = job.operations.checkpoint_mode != CheckpointMode::sync;
  const Seconds drain = times.write.value_or(Seconds{});
  const Seconds local = async ? times.local_write.value_or(Seconds{}) : Seconds{};
  const bool later = async || times.local_write;
  times.behind = later ? local + drain : Seconds{};
  times.safe = later ? local + drain * (1.0 - facts.local_share) : Seconds{};
  if (facts.local_share == 0.0)
    times.reload = times.read;
  else if (times.read && times.local_read)
    times.reload = facts.local_share * *times.local_read + (1.0 - facts.local_share) * *times.read;
  return times;
}

double checkpoint_slowdown(const Job& job, const CheckpointTimes& times, const StepForecast& step) {
  const Operations& operations = job.operations;
  if (operations.checkpoint.slowdown) return *operations.checkpoint.slowdown;
  if (operations.storage.network == StorageNetwork::own || !times.write ||
      !(*times.write > Seconds{}))
    return 1.0;
  constexpr double most = 0.99;  // of the NICs: steps go on
  const double used = std::min(most, times.size / *times.write / (nics_of_host(job) * times.hosts));
  return 1.0 + exposed_between_hosts(job, step) / step.time * used / (1.0 - used);
}

RunInputs run_model(const Job& job, const StepForecast& step, Seconds ideal,
                    std::vector<Warning>& warnings) {
  return Reader{job, step, warnings}.read(ideal);
}

StepCount count_steps(const Job& job, const StepForecast& step) {
  FORETRAIN_REQUIRE(job.training.tokens.has_value());
  double tokens = *job.training.tokens;
  StepCount count;
  if (!job.operations.batch_ramp.empty()) {
    const StageLayout layout = stage_layout(job.model, job.parallel);
    const auto seconds = [&layout](const Job& one) {
      return step_seconds(step_costs(one, layout));
    };
    const double scale = step.time / seconds(job);
    for (const BatchPhase& phase : job.operations.batch_ramp) {
      const double part = std::min(tokens, phase.tokens);
      const double steps = std::ceil(part / tokens_per_step(job, phase.global_batch));
      count.steps += steps;
      count.ideal += steps * scale * seconds(with_batch(job, phase.global_batch));
      tokens -= part;
    }
  }
  const double steps = std::ceil(tokens / tokens_per_step(job));
  count.steps += steps;
  count.ideal += steps * step.time;
  return count;
}

std::vector<std::string> broken_ramp(const Job& job) {
  std::vector<std::string> broken;
  const int unit = job.training.micro_batch * job.parallel.data;
  double tokens = 0.0;
  for (const BatchPhase& phase : job.operations.batch_ramp) {
    tokens += phase.tokens;
    if (phase.global_batch % unit != 0)
      broken.push_back(
          fmt::format("global_batch {} does not divide by micro_batch * data = {} * "
                      "{}; the next larger that does is {}",
                      phase.global_batch, job.training.micro_batch, job.parallel.data,
                      (phase.global_batch / unit + 1) * unit));
  }
  if (job.training.tokens && tokens > *job.training.tokens)
    broken.push_back(fmt::format("its phases take {:.4g} tokens, the run has {:.4g}", tokens,
                                 *job.training.tokens));
  return broken;
}

}  // namespace foretrain
