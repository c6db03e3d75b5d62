// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

#include "calibration/records/inference_record.hpp"
#include "calibration/records/measured_data.hpp"
#include "calibration/records/record_check.hpp"
#include "calibration/records/run_catalog.hpp"
#include "calibration/records/run_record.hpp"

namespace foretrain {

// Measured records against what the models say of them, quantity by quantity.

/// Checks the time of every measured kernel, in microseconds.
[[nodiscard]] std::vector<RecordCheck> check_kernels(const std::vector<KernelRecord>& records,
                                                     const RunCatalog& catalog);

/// Groups that collectives are summarised in.
inline constexpr const char* large_group = "from 1 MiB";
inline constexpr const char* small_group = "below 1 MiB";

/// Checks the time of every measured collective, in microseconds.
[[nodiscard]] std::vector<RecordCheck> check_collectives(const std::vector<SweepRecord>& records,
                                                         const RunCatalog& catalog);

/// Checks the step time of every record that tells a speed.
[[nodiscard]] std::vector<RecordCheck> check_run_steps(const std::vector<RunRecord>& records,
                                                       const RunCatalog& catalog);

/// Checks records in the format of calibration/measured/megatron_ci_memory.json: torch's allocated
/// bytes between steps and at the peak, on the last rank.
/// @throws std::runtime_error when the document has another shape.
[[nodiscard]] std::vector<RecordCheck> check_megatron_memory(const nlohmann::json& document,
                                                             const RunCatalog& catalog);

/// Checks the memory figures of measured runs, and whether they fit where the source says so.
[[nodiscard]] std::vector<RecordCheck> check_run_memory(const std::vector<RunRecord>& records,
                                                        const RunCatalog& catalog);

/// How well the profiles over the pipeline stages are met.
struct StageProfiles {
  int count = 0;           ///< profiles of at least two stages
  int heaviest_right = 0;  ///< the forecast's heaviest stage is the measured one, or within 0.5 %
  int stages = 0;          ///< of all profiles
  double median = 0.0;     ///< of the errors of single stages, and their 90th percentile
  double p90 = 0.0;
};

[[nodiscard]] StageProfiles stage_profiles(const std::vector<RecordCheck>& checks);

/// Checks time to first token, time per output token and output tokens per second of every measured
/// inference run. A check's group is the engine, its item the device and the kind of model, its
/// grid the case: what differs within it is the layout.
[[nodiscard]] std::vector<RecordCheck> check_inference(const std::vector<InferenceRecord>& records,
                                                       const RunCatalog& catalog);

/// "dense", "experts", "hybrid", and with "latent" before where attention is.
[[nodiscard]] std::string model_kind(const LlmShape& model);

}  // namespace foretrain
