// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/records/inference_record.hpp"
#include "calibration/records/record_check.hpp"
#include "calibration/records/run_catalog.hpp"

namespace foretrain {

/// Checks time to first token, time per output token and output tokens per second of every measured
/// inference run. A check's group is the engine, its item the device and the kind of model, its
/// grid the case: what differs within it is the layout.
[[nodiscard]] std::vector<RecordCheck> check_inference(const std::vector<InferenceRecord>& records,
                                                       const RunCatalog& catalog);

/// "dense", "experts", "hybrid", and with "latent" before where attention is.
[[nodiscard]] std::string model_kind(const LlmShape& model);

}  // namespace foretrain
