// SPDX-License-Identifier: Apache-2.0
#include "calibration/diagnosis/sign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace foretrain {
namespace {

/// Judged, not measured: nobody counts how often clean runs show these.
constexpr std::array<double, sign_count> usual_rates{0.05, 0.03, 0.10, 0.08, 0.04, 0.04,
                                                     0.03, 0.90, 0.08, 0.02, 0.08, 0.02,
                                                     0.02, 0.03, 0.03, 0.03, 0.05};

/// "none", "selective" or "full".
std::string recompute_word(const Job& job) {
  return std::string(name_of(job.memory.recompute.kind));
}

class SignFinder {
 public:
  SignFinder(const TrainingLog& log, const RunCourse& course, const Job& job,
             const ExpectedRun& expected)
      : log_{log}, course_{course}, job_{job}, expected_{expected} {}

  std::vector<SignSeen> find() {
    of_series();
    of_gpus();
    of_memory();
    of_network();
    of_settings();
    return std::move(signs_);
  }

 private:
  void add(Sign sign, bool seen, std::string what, double size = 1.0) {
    signs_.push_back({sign, seen, std::move(what), std::max(1.0, size)});
  }

  void of_series() {
    constexpr long few = 20;  // fewer records have no pattern
    if (course_.records < few) return;
    constexpr double some = 0.005;  // of the time
    const double all = course_.all_seconds();
    if (all <= 0.0) return;
    const double lost = course_.lost_at_checkpoints() / all;
    add(Sign::checkpoint_pauses, lost > some,
        fmt::format("{:.1f} % of the time is lost at checkpoints", 100.0 * lost), lost / some);
    of_slow_steps(some);
    constexpr double wide = 0.025;
    add(Sign::wide_spread, course_.spread > wide,
        fmt::format("single steps scatter by {:.1f} %", 100.0 * course_.spread),
        course_.spread / wide);
    constexpr double up = 0.03;
    add(Sign::drift_up, !course_.shift && course_.drift > up,
        fmt::format("the last fifth of the steps takes {:+.1f} % against the first",
                    100.0 * course_.drift),
        course_.drift / up);
    constexpr double step_up = 0.04;
    const auto& shift = course_.shift;
    const double apart = shift ? std::max(shift->ratio, 1.0 / shift->ratio) - 1.0 : 0.0;
    add(Sign::level_shift, shift.has_value(),
        shift ? fmt::format("{} step {}, steps take {:.0f} % longer",
                            shift->ratio > 1.0 ? "from" : "until", shift->step, 100.0 * apart)
              : "steps keep their level",
        apart / step_up);
  }

  void of_slow_steps(double some) {
    constexpr double few = 4.0;  // at equal distances by chance
    const double share = course_.lost_in_slow_steps() / course_.all_seconds();
    const bool other = !course_.stalls_are_checkpoints();
    const bool periodic = course_.period && other;
    add(Sign::periodic_stalls, periodic,
        periodic
            ? fmt::format("{} slow steps, most of them {:.0f} apart, lose {:.1f} % of the time",
                          course_.stall_count, *course_.period, 100.0 * share)
            : "no slow steps at equal distances",
        std::max(share / some, static_cast<double>(course_.stall_count) / few));
    const bool irregular = !course_.period && other && share > some;
    add(Sign::irregular_stalls, irregular,
        irregular ? fmt::format("{} slow steps at unequal distances lose {:.1f} % of the time",
                                course_.stall_count, 100.0 * share)
                  : "no time is lost in slow steps at unequal distances",
        share / some);
  }

  void of_gpus() {
    constexpr double nine_tenths = 0.9;
    const LogClues& clues = log_.clues;
    of_clocks();
    if (clues.use_low)
      add(Sign::gpus_idle, *clues.use_low < nine_tenths,
          fmt::format("the least used GPU is busy {:.0f} % of the time", 100.0 * *clues.use_low));
  }

  void of_clocks() {
    constexpr double low = 0.87;  // under load, power takes some of the clock of any GPU
    const LogClues& clues = log_.clues;
    if (!clues.clock_low_mhz || !clues.clock_high_mhz || *clues.clock_high_mhz <= 0.0) return;
    const auto full = full_clock(job_.cluster.host.device.architecture);
    const double share = *clues.clock_low_mhz / full.value_or(*clues.clock_high_mhz);
    std::string what = fmt::format("GPUs report {:.0f} to {:.0f} MHz", *clues.clock_low_mhz,
                                   *clues.clock_high_mhz);
    if (full) what += fmt::format(" of {:.0f} MHz", *full);
    if (full || share < low) add(Sign::clock_low, share < low, what);
    if (full) add(Sign::clock_full, share >= low, what);
  }

  /// Boost clock of data-center parts in MHz, from their datasheets; absent: not known.
  static std::optional<double> full_clock(Architecture architecture) {
    switch (architecture) {
      case Architecture::volta:
        return 1530.0;
      case Architecture::turing:
        return 1590.0;
      case Architecture::ampere:
        return 1410.0;
      case Architecture::hopper:
        return 1980.0;
      case Architecture::ada:  // one clock for none of its parts
      case Architecture::blackwell:
        return std::nullopt;
    }
    return std::nullopt;
  }

  void of_memory() {
    const LogClues& clues = log_.clues;
    add(Sign::allocator_retries, clues.allocator_retries > 0,
        fmt::format("the allocator tried again {} times", clues.allocator_retries));
    add(Sign::collections, clues.collections > 0,
        fmt::format("{} garbage collections are announced", clues.collections));
    const auto most = log_.reserved_max_bytes ? log_.reserved_max_bytes : log_.memory_max_bytes;
    if (!most || expected_.usable <= 0.0) return;
    constexpr double near = 0.96;
    const double share = (*most + expected_.outside) / expected_.usable;
    // What is allocated leaves out the allocator's cache: it tells of full memory, not of room.
    if (!log_.reserved_max_bytes && share < near) return;
    add(Sign::memory_full, share >= near,
        fmt::format("{:.0f} % of the memory that a process can get is held", 100.0 * share));
  }

  void of_network() {
    if (log_.clues.nics) {
      const int nics = job_.cluster.host.nics;
      add(Sign::fewer_nics, *log_.clues.nics < nics,
          fmt::format("NCCL uses {} NICs of a host, the scenario has {}", *log_.clues.nics, nics));
    }
    if (log_.clues.sockets || log_.clues.nics)
      add(Sign::sockets, log_.clues.sockets,
          log_.clues.sockets ? "NCCL uses sockets (TCP)" : "NCCL uses InfiniBand verbs");
  }

  void of_settings() {
    const Overlap& overlap = job_.communication.overlap;
    const auto tell = [&](const std::optional<bool>& said, bool planned) {
      return said ? std::optional(planned && !*said) : std::nullopt;
    };
    const auto gradients = tell(log_.plan.overlap_gradients, overlap.gradients);
    const auto parameters = tell(log_.plan.overlap_parameters, overlap.parameters);
    if (gradients || parameters) {
      const bool off = gradients.value_or(false) || parameters.value_or(false);
      add(Sign::overlap_off, off,
          off ? "the log says that gradients or weights travel after the passes, the scenario that "
                "they travel beside them"
              : "the log's settings overlap as the scenario does");
    }
    if (const std::string& chosen = log_.clues.attention; !chosen.empty()) {
      const bool flash = job_.memory.attention == AttentionKind::flash;
      const bool newest = has_newer_attention(job_);
      // Transformer Engine's "fused" is cuDNN's kernel, its "flash" FlashAttention's.
      const bool differs =
          flash ? chosen == "unfused" || (newest && chosen == "flash") : chosen != "unfused";
      add(Sign::attention_differs, differs,
          fmt::format("Transformer Engine chose {} attention, the scenario has {}", chosen,
                      newest ? "the newest fused one" : name_of(job_.memory.attention)));
    }
    if (!log_.plan.recompute.empty()) {
      const std::string planned = recompute_word(job_);
      const bool differs = log_.plan.recompute != planned;
      add(Sign::recompute_differs, differs,
          fmt::format("the log says recompute {}, the scenario {}", log_.plan.recompute, planned));
    }
  }

  const TrainingLog& log_;
  const RunCourse& course_;
  const Job& job_;
  const ExpectedRun& expected_;
  std::vector<SignSeen> signs_;
};

}  // namespace

std::vector<SettingDifference> setting_differences(const LoggedPlan& log, const Job& job) {
  struct Row {
    const char* key;
    std::optional<int> said;
    int planned;
  };
  const Parallel& plan = job.parallel;
  const LlmShape& model = job.model;
  // Of a log that names no context ranks, replicas are what tensor and pipeline ranks leave.
  const int data = log.context ? plan.data : plan.data * plan.context;
  const auto rows = std::to_array<Row>({
      {"cluster.gpus", log.gpus, plan.gpus()},
      {"parallel.tensor", log.tensor, plan.tensor},
      {"parallel.pipeline", log.pipeline, plan.pipeline},
      {"parallel.data", log.data, data},
      {"parallel.context", log.context, plan.context},
      {"parallel.expert", log.expert, plan.expert},
      {"training.micro_batch", log.micro_batch, job.training.micro_batch},
      {"training.global_batch", log.global_batch, job.training.global_batch},
      {"training.sequence", log.sequence, job.training.sequence},
      {"model.layers", log.layers, model.layers},
      {"model.hidden", log.hidden, model.hidden},
      {"model.heads", log.heads, model.heads},
  });
  std::vector<SettingDifference> differences;
  for (const Row& row : rows)
    if (row.said && *row.said != row.planned)
      differences.push_back({row.key, std::to_string(*row.said), std::to_string(row.planned)});
  const std::string precision(name_of(job.training.precision));
  // A log says fp8 of any recipe in eight bits.
  const bool alike = precision == log.precision ||
                     (log.precision == "fp8" && precision.find("fp8") != std::string::npos);
  if (!log.precision.empty() && !alike)
    differences.push_back({"training.precision", log.precision, precision});
  return differences;
}

Job with_batch_of(const LoggedPlan& log, Job job) {
  Training& training = job.training;
  training.micro_batch = log.micro_batch.value_or(training.micro_batch);
  training.global_batch = log.global_batch.value_or(training.global_batch);
  training.sequence = log.sequence.value_or(training.sequence);
  return job;
}

double usual_rate(Sign sign) { return usual_rates[static_cast<std::size_t>(sign)]; }

double usual_rate(const SignSeen& sign) { return usual_rate(sign.sign) / (sign.size * sign.size); }

std::vector<SignSeen> signs_of(const TrainingLog& log, const RunCourse& course, const Job& job,
                               const ExpectedRun& expected) {
  return SignFinder(log, course, job, expected).find();
}

}  // namespace foretrain
