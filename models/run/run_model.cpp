// SPDX-License-Identifier: Apache-2.0
#include "models/run/run_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/layers/row_statistics.hpp"
#include "models/memory/memory.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {
namespace {

Seconds from_rate(double per_second) {
  return per_second > 0.0 ? Seconds{1.0 / per_second} : Seconds{};
}

double count_of(ComponentKind kind, const Cluster& cluster) {
  switch (kind) {
    case ComponentKind::gpu:
      return cluster.gpus();
    case ComponentKind::nic:
      return static_cast<double>(cluster.hosts) * cluster.host.nics;
    case ComponentKind::host:
      return cluster.hosts;
    case ComponentKind::job:
      return 1.0;
  }
  return 1.0;
}

Seconds on_curve(const std::vector<InterruptionPoint>& curve, double gpus,
                 std::vector<Warning>& warnings) {
  const auto above = std::find_if(curve.begin(), curve.end(),
                                  [gpus](const auto& point) { return point.gpus >= gpus; });
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
    model_.reload =
        need(facts.reload ? facts.reload : times.read, "operations.checkpoint.read_bandwidth");
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
    if (pace > 0.0) model_.slow_pace = step_.time / (step_.time + (1.0 / pace - 1.0) * kernels);
  }

  void read_preemption() {
    const PreemptionFacts& facts = ops_.preemption;
    if (!facts.every && !facts.wait && !facts.notice) return;
    model_.preempted_every = need(facts.every, "operations.preemption.every");
    model_.preempted_wait = need(facts.wait, "operations.preemption.wait");
  }

  void read_checkpoint() {
    const CheckpointTimes times = checkpoint_times(job_);
    const Seconds write = need(times.write, "operations.checkpoint.write_bandwidth");
    const bool async = ops_.checkpoint_mode != CheckpointMode::sync;
    warn_of_mode(times);
    model_.stall = times.stall.value_or(Seconds{});
    model_.lag = async ? write : Seconds{};
    model_.preempted_warned = ops_.preemption.notice && *ops_.preemption.notice >= model_.save();
    std::optional<Seconds> every = ops_.checkpoint_every;
    if (ops_.checkpoint.every_steps) every = step_.time * *ops_.checkpoint.every_steps;
    if (!ops_.checkpoint.optimal) {
      model_.every = need(every, "operations.checkpoint.every");
    } else if (missing_.empty()) {
      model_.every = best_interval(model_, max(model_.lag, step_.time));
    }
    if (!missing_.empty() || model_.every >= model_.lag) return;
    warnings_.push_back({"checkpoint-too-slow",
                         fmt::format("a checkpoint takes longer to write ({:.0f} s) than the "
                                     "interval between two ({:.0f} s); they follow each other "
                                     "without a break",
                                     model_.lag.value(), model_.every.value())});
    model_.every = model_.lag;
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
      rate += count_of(part.per, job.cluster) / part.every.value();
    return from_rate(rate);
  }
  if (!facts.curve.empty()) return on_curve(facts.curve, gpus, warnings);
  if (!facts.trace.empty()) return facts.trace.back().at / static_cast<double>(facts.trace.size());
  return std::nullopt;
}

CheckpointTimes checkpoint_times(const Job& job) {
  const Operations& operations = job.operations;
  CheckpointTimes times;
  times.size = operations.checkpoint.size.value_or(checkpoint_size(job));
  const double parts = writers(job);
  std::optional<BytesPerSecond> links;
  if (operations.storage.host_link)
    links = *operations.storage.host_link * std::ceil(parts / job.cluster.host.gpus);
  const auto writing =
      least({operations.checkpoint_write_bandwidth, operations.storage.write, links});
  const auto reading =
      least({operations.checkpoint.read_bandwidth, operations.storage.read, links});
  // A link alone is no storage system: what it leads to must be known.
  if (operations.checkpoint_write_bandwidth || operations.storage.write)
    times.write = times.size / *writing;
  if (operations.checkpoint.read_bandwidth || operations.storage.read)
    times.read = times.size / *reading;
  times.stall = operations.checkpoint.stall;
  if (times.stall) return times;
  if (operations.checkpoint_mode == CheckpointMode::sync) {
    times.stall = times.write;
  } else {
    const Link& pcie = job.cluster.host.pcie;
    times.stall = pcie.bandwidth > BytesPerSecond{}
                      ? times.size / parts / (pcie.bandwidth * pcie.achievable)
                      : Seconds{};
  }
  return times;
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
