// SPDX-License-Identifier: Apache-2.0
#include "calibration/diagnosis/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"

namespace foretrain {
namespace {

constexpr long few_records = 20;  // fewer have no pattern

class Finder {
 public:
  Finder(const TrainingLog& log, const RunCourse& course, const ExpectedRun& expected,
         const StepForecast& band)
      : log_{log}, course_{course}, expected_{expected}, band_{band} {}

  std::vector<RunFinding> find() {
    of_level();
    if (course_.records >= few_records) {
      of_course();
      of_interruptions();
    }
    of_memory();
    return std::move(found_);
  }

 private:
  void add(FindingKind kind, double size, double lost) { found_.push_back({kind, size, lost}); }

  /// Share of the run's time that a share of a median step is.
  [[nodiscard]] double of_run(double share_of_step) const {
    return share_of_step * course_.productive.value_or(1.0);
  }

  void of_level() {
    const double ratio = course_.median / band_.time.value();
    const double lost = of_run(1.0 - 1.0 / ratio);
    if (course_.median > band_.high.value()) {
      add(FindingKind::slower, ratio - 1.0, lost);
    } else if (course_.median < band_.low.value()) {
      add(FindingKind::faster, ratio - 1.0, lost);
    } else if (const auto passes = passes_apart()) {
      const double seconds = *passes * expected_passes();
      add(FindingKind::timers, *passes, of_run(seconds / course_.median));
    }
  }

  [[nodiscard]] double expected_passes() const {
    return expected_.sections.at(LogSection::forward).most +
           expected_.sections.at(LogSection::backward).most;
  }

  /// By how much the timed passes are off, where that is more than the band allows.
  [[nodiscard]] std::optional<double> passes_apart() const {
    const auto& sections = log_.clues.sections;
    const auto forward = sections.find(LogSection::forward);
    const auto backward = sections.find(LogSection::backward);
    if (forward == sections.end() || backward == sections.end() || expected_passes() <= 0.0)
      return std::nullopt;
    const double ratio = (forward->second.most + backward->second.most) / expected_passes();
    const bool inside = ratio >= band_.low / band_.time && ratio <= band_.high / band_.time;
    return inside ? std::nullopt : std::optional(ratio - 1.0);
  }

  /// The first and the last fifth differ by more than single steps scatter.
  [[nodiscard]] bool drifts() const {
    constexpr double least = 0.03;
    constexpr double deviations = 3.0;
    const double fifth = std::max(1.0, static_cast<double>(course_.records) / 5.0);
    // Standard error of the difference of two medians of a normal law: 1.2533 sqrt(2 / n).
    const double error = 1.2533 * course_.spread * std::sqrt(2.0 / fifth);
    return std::abs(course_.drift) > std::max(least, deviations * error);
  }

  void of_course() {
    if (course_.shift) {
      const double ratio = course_.shift->ratio;
      const double slow = ratio > 1.0 ? 1.0 - course_.shift->before : course_.shift->before;
      add(FindingKind::level_shift, ratio - 1.0,
          of_run(slow * (1.0 - std::min(ratio, 1.0 / ratio))));
    } else if (drifts()) {
      // Against the faster end, half of the difference in the mean.
      add(FindingKind::drift, course_.drift, of_run(0.5 * std::abs(course_.drift)));
    }
  }

  void of_interruptions() {
    constexpr double some = 0.02;
    constexpr double few = 0.01;
    constexpr double regular = 0.003;  // with a period, less is a pattern
    const double all = course_.all_seconds();
    if (all <= 0.0) return;
    const double checkpoints = course_.lost_at_checkpoints() / all;
    if (checkpoints > some) add(FindingKind::checkpoints, checkpoints, checkpoints);
    const double slow = course_.lost_in_slow_steps() / all;
    if (slow > (course_.period ? regular : few)) add(FindingKind::slow_steps, slow, slow);
    const double paused = (course_.paused_seconds - course_.paused_at_checkpoints) / all;
    if (paused > some) add(FindingKind::pauses, paused, paused);
  }

  void of_memory() {
    constexpr double allocated_far = 0.12;
    constexpr double reserved_far = 0.20;
    if (!log_.memory_max_bytes) return;
    const bool reserved = log_.memory_kind == "reserved";
    const double forecast = reserved ? expected_.reserved : expected_.allocated;
    if (forecast <= 0.0) return;
    const double apart = *log_.memory_max_bytes / forecast - 1.0;
    if (std::abs(apart) > (reserved ? reserved_far : allocated_far))
      add(FindingKind::memory, apart, 0.0);
  }

  const TrainingLog& log_;
  const RunCourse& course_;
  const ExpectedRun& expected_;
  const StepForecast& band_;
  std::vector<RunFinding> found_;
};

/// What would tell more, of what the log does not have.
std::vector<std::string> missing_of(const TrainingLog& log) {
  std::vector<std::string> missing;
  if (log.clues.sections.empty())
    missing.emplace_back(
        "times of passes, exchanges, optimizer and data (Megatron: --timing-log-level 2 "
        "--timing-log-option minmax; DeepSpeed: wall_clock_breakdown)");
  if (!log.clues.clock_low_mhz)
    missing.emplace_back("clocks and use of GPUs (Megatron: --log-straggler; else DCGM)");
  if (!log.clues.nics && !log.clues.sockets)
    missing.emplace_back("NICs that NCCL uses (NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET)");
  if (!log.memory_max_bytes) missing.emplace_back("peak memory");
  return missing;
}

double bytes_of(const Job& job, bool reserved) {
  double most = 0.0;
  for (const StageMemory& stage :
       forecast_memory(job, stage_layout(job.model, job.parallel)).stages)
    most = std::max(most, reserved ? stage.reserved.value() : stage.counted.value());
  return most;
}

/// The plan with one of its settings changed, where that can run.
class PlanChanges {
 public:
  explicit PlanChanges(const Job& job) : job_{job} {}

  std::vector<std::pair<std::string, Job>> all() {
    for (const RecomputeKind kind :
         {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full})
      if (kind != job_.memory.recompute.kind)
        add(fmt::format("memory.recompute={}", name_of(kind)),
            [&](Job& job) { job.memory.recompute.kind = kind; });
    for (const int zero : {0, 1, 2, 3})
      if (zero != job_.parallel.zero)
        add(fmt::format("parallel.zero={}", zero), [&](Job& job) { job.parallel.zero = zero; });
    if (job_.memory.attention == AttentionKind::flash)
      add("memory.attention=unfused",
          [](Job& job) { job.memory.attention = AttentionKind::unfused; });
    if (job_.memory.offload == OffloadKind::none)
      add("memory.offload=optimizer",
          [](Job& job) { job.memory.offload = OffloadKind::optimizer; });
    add_micro_batches();
    return std::move(changed_);
  }

 private:
  template <class Change>
  void add(std::string setting, const Change& change) {
    Job job = job_;
    change(job);
    if (broken_rules(job).empty() && not_modelled(job).empty())
      changed_.emplace_back(std::move(setting), std::move(job));
  }

  void add_micro_batches() {
    const int now = job_.training.micro_batch;
    std::vector<int> others{2 * now};
    if (now % 2 == 0) others.push_back(now / 2);
    for (const int micro_batch : others)
      add(fmt::format("training.micro_batch={}", micro_batch),
          [&](Job& job) { job.training.micro_batch = micro_batch; });
  }

  const Job& job_;
  std::vector<std::pair<std::string, Job>> changed_;
};

/// Single changes of the plan whose forecast comes at least twice as near to the measured memory as
/// the plan's own, the nearest first; empty: none does.
/// @pre log.memory_max_bytes
std::vector<MemoryCause> memory_causes(const Job& job, const TrainingLog& log,
                                       const ExpectedRun& expected) {
  const bool reserved = log.memory_kind == "reserved";
  const auto apart = [&](double bytes) {
    return std::abs(std::log(*log.memory_max_bytes / bytes));
  };
  const double as_planned = apart(reserved ? expected.reserved : expected.allocated);
  std::vector<MemoryCause> causes;
  for (const auto& [setting, changed] : PlanChanges(job).all())
    if (const double bytes = bytes_of(changed, reserved);
        bytes > 0.0 && apart(bytes) <= 0.5 * as_planned)
      causes.push_back({setting, bytes});
  std::ranges::stable_sort(causes, [&](const MemoryCause& a, const MemoryCause& b) {
    return apart(a.bytes) < apart(b.bytes);
  });
  return causes;
}

}  // namespace

bool is_level(FindingKind kind) {
  return kind == FindingKind::slower || kind == FindingKind::faster ||
         kind == FindingKind::timers || kind == FindingKind::suspected ||
         kind == FindingKind::drift || kind == FindingKind::level_shift;
}

void sort_findings(std::vector<RunFinding>& findings) {
  std::ranges::stable_sort(findings, [](const RunFinding& a, const RunFinding& b) {
    return std::abs(a.lost) > std::abs(b.lost);
  });
}

std::vector<RunFinding> findings_of(const TrainingLog& log, const RunCourse& course,
                                    const ExpectedRun& expected, const StepForecast& band) {
  std::vector<RunFinding> found = Finder(log, course, expected, band).find();
  sort_findings(found);
  return found;
}

const RankedCause& Diagnosis::cause(std::string_view id) const {
  return *std::ranges::find_if(causes, [&](const RankedCause& one) { return one.id == id; });
}

namespace {

/// The job with the log's batch, where they differ in that and it can run so.
Job followed_job(const TrainingLog& log, const Job& job, Diagnosis& diagnosis) {
  std::vector<SettingDifference> all = setting_differences(log.plan, job);
  if (all.empty()) return job;
  Job own = with_batch_of(log.plan, job);
  std::vector<SettingDifference> rest = setting_differences(log.plan, own);
  if (!rest.empty() || !refusals(own).empty()) {
    diagnosis.differences = std::move(all);
    return job;
  }
  diagnosis.followed = std::move(all);
  return own;
}

}  // namespace

Diagnosis diagnose(const TrainingLog& log, const Job& planned) {
  Diagnosis diagnosis;
  const Job job = followed_job(log, planned, diagnosis);
  diagnosis.course = run_course(log);
  diagnosis.forecast = expected_band(job);
  diagnosis.expected = expected_run(job);
  diagnosis.in_band = diagnosis.course.median >= diagnosis.forecast.low.value() &&
                      diagnosis.course.median <= diagnosis.forecast.high.value();
  diagnosis.missing = missing_of(log);
  if (!diagnosis.differences.empty()) return diagnosis;
  diagnosis.findings = findings_of(log, diagnosis.course, diagnosis.expected, diagnosis.forecast);
  rank_causes(log, job, diagnosis);
  if (std::ranges::any_of(diagnosis.findings,
                          [](const RunFinding& one) { return one.kind == FindingKind::memory; }))
    diagnosis.memory_causes = memory_causes(job, log, diagnosis.expected);
  diagnosis.waterfall = step_waterfall(log, diagnosis);
  diagnosis.wall_waterfall = wall_waterfall(diagnosis);
  return diagnosis;
}

}  // namespace foretrain
