// SPDX-License-Identifier: Apache-2.0
#include "calibration/diagnosis/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"

namespace foretrain {
namespace {

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
  std::stable_sort(causes.begin(), causes.end(), [&](const MemoryCause& a, const MemoryCause& b) {
    return apart(a.bytes) < apart(b.bytes);
  });
  return causes;
}

}  // namespace

const RankedCause& Diagnosis::cause(std::string_view id) const {
  return *std::find_if(causes.begin(), causes.end(),
                       [&](const RankedCause& one) { return one.id == id; });
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
  if (std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                  [](const RunFinding& one) { return one.kind == FindingKind::memory; }))
    diagnosis.memory_causes = memory_causes(job, log, diagnosis.expected);
  diagnosis.waterfall = step_waterfall(log, diagnosis);
  diagnosis.wall_waterfall = wall_waterfall(diagnosis);
  return diagnosis;
}

}  // namespace foretrain
