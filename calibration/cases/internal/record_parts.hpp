// SPDX-License-Identifier: Apache-2.0
// What cases of serving and of post-training read from a record alike.
#pragma once

#include <string>
#include <vector>

#include "calibration/records/inference_record.hpp"
#include "calibration/records/run_catalog.hpp"
#include "models/inputs/cluster.hpp"
#include "models/inputs/llm.hpp"

namespace foretrain {

/// Why a record makes no case.
struct Skip {
  std::string why;
};

/// @throws Skip where neither catalog nor record know the shape
[[nodiscard]] LlmShape recorded_model(const InferenceRecord& record, const RunCatalog& catalog);
/// So many GPUs of the record's on their usual hosts.
/// @throws Skip
[[nodiscard]] Cluster recorded_cluster(const InferenceRecord& record, int gpus,
                                       const RunCatalog& catalog,
                                       std::vector<std::string>& assumptions);

}  // namespace foretrain
