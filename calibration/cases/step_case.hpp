// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/records/record_check.hpp"
#include "calibration/records/run_catalog.hpp"
#include "calibration/records/run_record.hpp"
#include "calibration/records/run_source.hpp"
#include "models/base/prediction.hpp"
#include "models/base/quantity.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Groups that step times are summarised in.
inline constexpr const char* dense_half_group = "dense bf16/fp16";
inline constexpr const char* dense_fp8_group = "dense fp8";
inline constexpr const char* moe_group = "MoE";
inline constexpr const char* hybrid_group = "hybrid";
/// Frameworks that no profile describes, forecast as their nearest kin.
inline constexpr const char* kin_group = "kin";

/// Seconds per step as the source measured it: its step time, else its tokens or sequences per
/// second, else its TFLOP/s or MFU counted back in its own convention (models/layers/flops.hpp).
/// Nothing where it tells no speed, or one in a convention that is not known.
/// @pre job is run_job() of the record, which states its global batch.
[[nodiscard]] std::optional<Seconds> measured_step(const RunRecord& record, const Job& job);

/// Step time with its band, whether or not the job fits into memory.
/// @pre broken_rules(job) and not_modelled(job) are empty.
[[nodiscard]] StepForecast predict_step(const Job& job);

/// A record that tells a speed, as a job with its measured time.
struct StepRun {
  RecordCheck check;              ///< not predicted yet; skipped where there is no job
  std::optional<Job> job;         ///< with copies of its profiles
  std::vector<Job> alternatives;  ///< whose bands the run's holds too (run_job.hpp)
  bool recompute_unknown = false;
  std::string confidence;
  FitScope fitted = FitScope::all;
  std::optional<int> year;  ///< of its software, where the source tells
};

/// Expresses a record that tells a speed, or says in the check why it cannot be.
[[nodiscard]] StepRun step_run(const RunRecord& record, const RunCatalog& catalog);
/// step_run() of every record that tells a speed.
[[nodiscard]] std::vector<StepRun> step_runs(const std::vector<RunRecord>& records,
                                             const RunCatalog& catalog);
/// Fills in what the job of the run, if it has one, is forecast to take; the band reaches over
/// those of its alternatives.
void predict(StepRun& run);
/// Adds to the remarks, where it is not known what a run recomputed, what it would be with either.
void tell_unknown(StepRun& run);

}  // namespace foretrain
