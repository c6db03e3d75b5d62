// SPDX-License-Identifier: Apache-2.0
#include "tests/planner/diagnosis/fault_player.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "models/forecast/closed_form.hpp"
#include "models/forecast/path_forecast.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"

namespace foretrain::test {
namespace {

constexpr int steps_of_run = 200;

/// What a rank's timers show of a step.
struct Timers {
  double forward = 0.0;
  double backward = 0.0;
};

/// A run as the simulator plays it, before noise.
struct Truth {
  double step = 0.0;
  Timers slowest, fastest;
  double gradients = 0.0;
  double optimizer = 0.0;
  double input = 0.0;
  double allocated = 0.0;
  double reserved = 0.0;
  double usable = 0.0;  ///< by the allocator
};

/// Passes of a stage on the played timeline.
Timers stage_timers(const StepPath& path, int stage) {
  Timers timers;
  for (std::size_t id = 0; id < path.graph.tasks.size(); ++id) {
    const Task& task = path.graph.tasks[id];
    if (task.rank != stage || task.stream != StreamKind::compute) continue;
    const double lasts = (path.timeline.end[id] - path.timeline.start[id]).value();
    if (task.role == TaskRole::forward) timers.forward += lasts;
    if (task.role == TaskRole::backward || task.role == TaskRole::input_gradient ||
        task.role == TaskRole::weight_gradient)
      timers.backward += lasts;
  }
  timers.forward *= path.release;
  timers.backward *= path.release;
  return timers;
}

class Player {
 public:
  Player(const Job& job, std::uint64_t seed) : job_{job}, random_{seed} {}

  double uniform(double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(random_);
  }
  double around(double deviation) {
    return std::exp(std::normal_distribution<double>(0.0, deviation)(random_));
  }
  bool chance(double share) { return uniform(0.0, 1.0) < share; }

  static Truth play(const Job& job) {
    const StageLayout layout = stage_layout(job.model, job.parallel);
    const StepPath path = step_path(job, layout);
    const StepForecast step = step_forecast(path);
    Truth truth;
    truth.step = step.time.value();
    for (int stage = 0; stage < layout.stages(); ++stage) {
      const Timers timers = stage_timers(path, stage);
      const auto longer = [](double a, double b) { return std::max(a, b); };
      truth.slowest = {longer(truth.slowest.forward, timers.forward),
                       longer(truth.slowest.backward, timers.backward)};
      if (stage == 0) truth.fastest = timers;
      truth.fastest = {std::min(truth.fastest.forward, timers.forward),
                       std::min(truth.fastest.backward, timers.backward)};
    }
    truth.gradients = step.breakdown.data.value();
    truth.optimizer = step.breakdown.optimizer.value();
    const MemoryForecast memory = forecast_memory(job, layout);
    for (const StageMemory& stage : memory.stages) {
      truth.allocated = std::max(truth.allocated, stage.counted.value());
      truth.reserved = std::max(truth.reserved, stage.reserved.value());
      truth.usable = (memory.usable - (stage.peak - stage.reserved)).value();
    }
    return truth;
  }

  [[nodiscard]] const Job& job() const { return job_; }

 private:
  const Job& job_;
  std::mt19937_64 random_;
};

/// What of a fault is no level: the shape of the series, and what lines beside steps say.
struct Shape {
  double spread = 0.005;
  int period = 0;            ///< of slow steps
  double slow = 0.0;         ///< share that they take longer
  int checkpoint = 0;        ///< steps between checkpoints
  double pause = 0.0;        ///< seconds that writing one takes
  double irregular = 0.004;  ///< chance of a slow step
  double clock = 0.99;
  double use = 0.98;
  int nics = 0;  ///< 0: all
  std::optional<bool> overlap;
  bool sockets = false;
  std::string attention = "FusedAttention (sub-backend 1)";  ///< empty: the log does not say
};

struct Fault {
  std::optional<Truth> truth;
  Shape shape;
  bool full = false;  ///< memory is
};

std::optional<Truth> played(const Job& job) {
  if (!broken_rules(job).empty() || !not_modelled(job).empty()) return std::nullopt;
  return Player::play(job);
}

Fault network_fault(std::string_view cause, Player& player) {
  Fault fault;
  Job job = player.job();
  if (cause == "fewer-nics") {
    if (job.cluster.hosts < 2) return fault;
    const double share = player.uniform(0.1, 0.6);
    job.cluster.network.nic_link.bandwidth *= share;
    if (player.chance(0.5))
      fault.shape.nics = std::max(1, static_cast<int>(share * job.cluster.host.nics));
  } else if (cause == "tcp-fallback") {
    if (job.cluster.hosts < 2) return fault;
    job.cluster.network.nic_link.bandwidth *= player.uniform(0.08, 0.35);
    fault.shape.sockets = true;
    fault.shape.spread = player.uniform(0.01, 0.04);
  } else {
    Overlap& overlap = job.communication.overlap;
    overlap.gradients = overlap.parameters = false;
    // A flag that is off stands in the dump of arguments; one without effect does not.
    if (player.chance(0.5)) fault.shape.overlap = false;
  }
  fault.truth = played(job);
  return fault;
}

std::optional<Truth> slower_rank(Player& player, double factor) {
  Job job = player.job();
  job.site.clock /= factor;
  auto slow = played(job);
  const auto healthy = played(player.job());
  if (slow && healthy) slow->fastest = healthy->fastest;
  return slow;
}

Fault compute_fault(std::string_view cause, Player& player) {
  Fault fault;
  Job job = player.job();
  if (cause == "slow-clock") {
    const double share = player.uniform(0.45, 0.85);
    job.site.clock *= share;
    fault.shape.clock = share;
  } else if (cause == "older-attention") {
    if (job.memory.attention != AttentionKind::flash) return fault;
    const double share = player.uniform(0.2, 0.6);
    job.device_profile.attention.rate *= share;
    job.device_profile.attention.flash2_rate *= share;
    fault.shape.attention = player.chance(0.5) ? "FlashAttention (2.4.2)" : "";
  } else if (cause == "straggler") {
    fault.truth = slower_rank(player, player.uniform(1.15, 2.2));
    return fault;
  } else if (cause == "expert-imbalance") {
    if (!job.model.moe || job.parallel.expert < 2) return fault;
    job.training.moe_imbalance =
        std::max(1.0, job.training.moe_imbalance) * player.uniform(1.6, 4.0);
    fault.shape.spread = player.uniform(0.03, 0.07);
    fault.truth = played(job);
    const auto healthy = played(player.job());
    if (fault.truth && healthy) fault.truth->fastest = healthy->fastest;
    return fault;
  } else if (cause == "other-recomputation") {
    Recompute& recompute = job.memory.recompute;
    recompute.kind =
        recompute.kind == RecomputeKind::full ? RecomputeKind::none : RecomputeKind::full;
  } else {
    fault.truth = played(job);
    if (!fault.truth) return fault;
    const double factor = player.uniform(1.05, 1.4);
    for (double* part :
         {&fault.truth->step, &fault.truth->slowest.forward, &fault.truth->slowest.backward,
          &fault.truth->fastest.forward, &fault.truth->fastest.backward})
      *part *= factor;
    fault.full = true;
    fault.shape.spread = player.uniform(0.03, 0.06);
    fault.shape.irregular = 0.05;
    return fault;
  }
  fault.truth = played(job);
  return fault;
}

Fault host_fault(std::string_view cause, Player& player) {
  Fault fault;
  Job job = player.job();
  if (cause == "host-bound") {
    const double factor = player.uniform(2.0, 10.0);
    job.stack.times.launch_forward *= factor;
    job.stack.times.launch_backward *= factor;
    fault.shape.use = player.uniform(0.5, 0.88);
    fault.shape.spread = player.uniform(0.005, 0.03);
  }
  fault.truth = played(job);
  if (!fault.truth) return fault;
  if (cause == "data-loading") {
    fault.truth->input = player.uniform(0.1, 0.9) * fault.truth->step;
    fault.truth->step += fault.truth->input;
    fault.shape.use = player.uniform(0.6, 0.95);
    fault.shape.spread = player.uniform(0.01, 0.05);
  } else if (cause == "checkpoint-stalls") {
    fault.shape.checkpoint = 50;
    fault.shape.pause = fault.truth->step * player.uniform(3.0, 20.0);
  } else if (cause == "garbage-collection") {
    fault.shape.period = static_cast<int>(player.uniform(7.0, 30.0));
    fault.shape.slow = player.uniform(0.12, 0.8);
  }
  return fault;
}

Fault fault_of(std::string_view cause, Player& player) {
  for (const std::string_view network : {"fewer-nics", "tcp-fallback", "no-overlap"})
    if (cause == network) return network_fault(cause, player);
  for (const std::string_view host :
       {"as-forecast", "host-bound", "data-loading", "checkpoint-stalls", "garbage-collection"})
    if (cause == host) return host_fault(cause, player);
  return compute_fault(cause, player);
}

/// What a forecast does not know: its constants are off by what its band says, the parts of a step
/// each by their own.
void add_errors(Truth& truth, Player& player, double band) {
  const double passes = player.around(0.8 * band);
  const double ratio = player.around(0.03);
  const double rest = (truth.step - truth.slowest.forward - truth.slowest.backward -
                       truth.gradients - truth.optimizer - truth.input) *
                      player.around(0.15);
  for (Timers* timers : {&truth.slowest, &truth.fastest}) {
    timers->forward *= passes / ratio;
    timers->backward *= passes * ratio;
  }
  truth.gradients *= player.around(0.2);
  truth.optimizer *= player.around(0.25);
  truth.step = truth.slowest.forward + truth.slowest.backward + truth.gradients + truth.optimizer +
               truth.input + std::max(0.0, rest);
  const double memory = player.around(0.02);
  truth.allocated *= memory;
  // Nobody reserves more than there is.
  truth.reserved = std::min(truth.reserved * memory, std::max(truth.reserved, truth.usable));
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(seconds);
  return fmt::format("2025-03-0{} {:02}:{:02}:{:02},{:03}", 1 + whole / 86400, whole / 3600 % 24,
                     whole / 60 % 60, whole % 60,
                     static_cast<int>((seconds - static_cast<double>(whole)) * 1000.0));
}

class LogWriter {
 public:
  LogWriter(const Truth& truth, const Shape& shape, LogDetail detail, Player& player)
      : truth_{truth}, shape_{shape}, detail_{detail}, player_{player} {}

  std::string write() {
    head();
    double now = 3600.0;
    for (int step = 1; step <= steps_of_run; ++step) {
      const double lasts = duration(step);
      now += lasts;
      line(step, lasts, now);
      if (shape_.checkpoint > 0 && step % shape_.checkpoint == 0) {
        checkpoint(step);
        now += shape_.pause * player_.around(0.1);
      }
    }
    return text_;
  }

 private:
  double duration(int step) {
    double lasts = truth_.step * player_.around(shape_.spread);
    if (step <= 2) lasts *= 3.0;
    if (shape_.period > 0 && step % shape_.period == 0) lasts *= 1.0 + shape_.slow;
    if (player_.chance(shape_.irregular)) lasts *= player_.uniform(1.1, 1.6);
    return lasts;
  }

  void head() {
    const Job& job = player_.job();
    if (detail_ == LogDetail::titan) return;
    const auto argument = [&](const char* name, const std::string& value) {
      text_ += fmt::format("  {:.<48} {}\n", std::string(name) + " ", value);
    };
    text_ += "------------------------ arguments ------------------------\n";
    argument("global_batch_size", std::to_string(job.training.global_batch));
    argument("micro_batch_size", std::to_string(job.training.micro_batch));
    argument("seq_length", std::to_string(job.training.sequence));
    argument("tensor_model_parallel_size", std::to_string(job.parallel.tensor));
    argument("pipeline_model_parallel_size", std::to_string(job.parallel.pipeline));
    argument("world_size", std::to_string(job.parallel.gpus()));
    const bool gradients = shape_.overlap.value_or(job.communication.overlap.gradients);
    argument("overlap_grad_reduce", gradients ? "True" : "False");
    if (detail_ != LogDetail::timers) return;
    if (!shape_.attention.empty() && job.memory.attention == AttentionKind::flash &&
        !job.stack.times.flash2 && player_.chance(0.7))
      text_ +=
          "DEBUG:2025-03-01:DotProductAttention: Selected backend = " + shape_.attention + "\n";
    if (shape_.sockets) {
      text_ += "node1:12:12 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\n";
    } else if (player_.chance(0.7)) {
      const int nics = shape_.nics > 0 ? shape_.nics : job.cluster.host.nics;
      text_ += "node1:12:12 [0] NCCL INFO NET/IB : Using";
      for (int nic = 0; nic < nics; ++nic) text_ += fmt::format(" [{}]mlx5_{}:1/IB", nic, nic);
      text_ += " [RO]; OOB eth0:10.0.0.1<0>\n";
    }
  }

  void line(int step, double lasts, double now) {
    if (detail_ == LogDetail::titan) return titan_line(step, lasts, now);
    text_ += fmt::format(
        " [{}] iteration {:8}/ {:8} | consumed samples: {:12} | elapsed time per iteration (ms): "
        "{:.1f} | learning rate: 1.0E-04 | global batch size: {:5} | lm loss: 2.1E+00 | loss "
        "scale: "
        "1.0 | grad norm: 0.5 | number of skipped iterations:   0 | number of nan iterations:   0 "
        "|\n",
        clock_text(now), step, steps_of_run, step * player_.job().training.global_batch,
        1e3 * lasts, player_.job().training.global_batch);
    if (step == 2)
      text_ += fmt::format(
          "[Rank 0] (after 2 iterations) memory (MB) | allocated: {:.2f} | max allocated: {:.2f} | "
          "reserved: {:.2f} | max reserved: {:.2f}\n",
          truth_.allocated / 2097152.0, truth_.allocated / 1048576.0, truth_.reserved / 1048576.0,
          truth_.reserved / 1048576.0);
    if (detail_ == LogDetail::timers) timers(lasts / truth_.step);
  }

  void titan_line(int step, double lasts, double now) {
    const Job& job = player_.job();
    const double tokens = static_cast<double>(job.training.global_batch) * job.training.sequence;
    text_ += fmt::format(
        "[rank0]:[titan] {} - root - INFO - step: {:2}  loss:  7.1  grad_norm:  1.1  memory: "
        "{:.2f}GiB({:.2f}%)  tps: {}  tflops: 400.0  mfu: 40.00%\n",
        clock_text(now), step, truth_.reserved / 1073741824.0, 50.0,
        static_cast<long>(tokens / lasts / job.parallel.gpus()));
  }

  void timers(double scale) {
    // Timers scatter by themselves; what makes a single step slow is in none of them.
    const double times = 1e3 * std::min(scale, 1.02) * player_.around(0.004);
    text_ += " (min, max) time across ranks (ms):\n";
    const auto timer = [&](const char* name, double least, double most) {
      text_ += fmt::format("    {:.<48}: ({:.2f}, {:.2f})\n", std::string(name) + " ",
                           times * std::min(least, most), times * most);
    };
    timer("forward-backward", truth_.slowest.forward + truth_.slowest.backward,
          1.01 * (truth_.slowest.forward + truth_.slowest.backward));
    const double load = truth_.input > 0.0 ? truth_.input : 0.001 * truth_.step;
    timer("forward-compute", truth_.fastest.forward + 0.8 * load, truth_.slowest.forward + load);
    timer("backward-compute", truth_.fastest.backward, truth_.slowest.backward);
    timer("batch-generator", 0.8 * load, load);
    timer("all-grads-sync", 0.9 * truth_.gradients, truth_.gradients);
    timer("optimizer", 0.98 * truth_.optimizer, truth_.optimizer);
    const double gap = (truth_.slowest.forward + truth_.slowest.backward) /
                       (truth_.fastest.forward + truth_.fastest.backward) * player_.around(0.005);
    text_ += fmt::format(
        " 0: INFO:megatron.core.utils:[2025-03-01 01:00:00] | MnRtt/Rnk: {:.2f}ms/8 | MxRtt/Rnk: "
        "{:.2f}ms/0 | MnPwr/Rnk: 601796W/8 | MxPwr/Rnk: 683801W/18 | MnTmp/Rnk: 52C/0 | MxTmp/Rnk: "
        "65C/21 | MnUtl/Rnk: {:.0f}%/8 | MxUtl/Rnk: 100%/6 | MnClk/Rnk: {:.0f}MHz/28 | MxClk/Rnk: "
        "{:.0f}MHz/0 | MnDRtt/Rnk: 14.27ms/23 | MxDRtt/Rnk: 34.65ms/8 |\n",
        1e3 * truth_.step, 1e3 * truth_.step * std::max(1.0, gap),
        100.0 * std::min(1.0, shape_.use * player_.around(0.01)), full_clock() * shape_.clock,
        full_clock() * std::min(1.0, shape_.clock + 0.01));
  }

  [[nodiscard]] double full_clock() const {
    return player_.job().cluster.host.device.architecture == Architecture::ampere ? 1410.0 : 1980.0;
  }

  void checkpoint(int step) {
    if (detail_ == LogDetail::titan)
      text_ += "[rank0]:[titan] Saving the checkpoint (or staging if async is enabled).\n";
    else
      text_ += fmt::format("saving checkpoint at iteration {:7} to /checkpoints in torch format\n",
                           step);
  }

  const Truth& truth_;
  const Shape& shape_;
  LogDetail detail_;
  Player& player_;
  std::string text_;
};

}  // namespace

std::optional<PlayedRun> play_run(const Job& job, std::string_view cause, LogDetail detail,
                                  std::uint64_t seed, double least) {
  Player player(job, seed);
  const auto healthy = played(job);
  Fault fault = fault_of(cause, player);
  if (!healthy || !fault.truth) return std::nullopt;
  PlayedRun run{std::string(cause), "", fault.truth->step / healthy->step - 1.0};
  const bool level = cause != "as-forecast" && cause != "checkpoint-stalls" &&
                     cause != "garbage-collection" && cause != "paging";
  if (level && std::abs(run.effect) < least) return std::nullopt;
  const Prediction prediction = closed_form(job);
  if (!prediction.step) return std::nullopt;
  const double band = std::log(prediction.step->high / prediction.step->low) / 2.563;
  add_errors(*fault.truth, player, band);
  if (fault.full) fault.truth->reserved = fault.truth->usable * player.uniform(0.97, 1.0);
  run.log = LogWriter(*fault.truth, fault.shape, detail, player).write();
  return run;
}

}  // namespace foretrain::test
