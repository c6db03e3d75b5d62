// SPDX-License-Identifier: Apache-2.0
#include "calibration/diagnosis/diagnose.hpp"

#include <algorithm>

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

}  // namespace

const RankedCause& Diagnosis::cause(std::string_view id) const {
  return *std::find_if(causes.begin(), causes.end(),
                       [&](const RankedCause& one) { return one.id == id; });
}

Diagnosis diagnose(const TrainingLog& log, const Job& job) {
  Diagnosis diagnosis;
  diagnosis.course = run_course(log);
  diagnosis.forecast = expected_band(job);
  diagnosis.expected = expected_run(job);
  diagnosis.in_band = diagnosis.course.median >= diagnosis.forecast.low.value() &&
                      diagnosis.course.median <= diagnosis.forecast.high.value();
  diagnosis.findings = findings_of(log, diagnosis.course, diagnosis.expected, diagnosis.forecast);
  rank_causes(log, job, diagnosis);
  if (std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                  [](const RunFinding& one) { return one.kind == FindingKind::memory; }))
    diagnosis.memory_causes = memory_causes(job, log, diagnosis.expected);
  diagnosis.waterfall = step_waterfall(log, diagnosis);
  diagnosis.wall_waterfall = wall_waterfall(diagnosis);
  diagnosis.differences = setting_differences(log.plan, job);
  diagnosis.missing = missing_of(log);
  return diagnosis;
}

}  // namespace foretrain
