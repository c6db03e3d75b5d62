// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/run_catalog.hpp"
#include "calibration/run_record.hpp"

namespace foretrain {

/// One quantity of one record, predicted and measured. Bytes; for `fits`, 1 is yes and 0 no.
struct MemoryCheck {
  std::string id;
  std::string source;    ///< family of records
  std::string quantity;  ///< mem_allocated, mem_max, mem_reserved, mem_device or fits
  double measured = 0.0;
  double predicted = 0.0;
  double low = 0.0;  ///< band of the prediction
  double high = 0.0;
  /// For `fits`: predicted device memory over what a process can get.
  double load = 0.0;
  /// Allocated bytes by pipeline stage, where the source gives them.
  std::vector<double> measured_by_stage;
  std::vector<double> predicted_by_stage;
  bool skipped = false;
  std::string why;                   ///< of a skipped record
  std::vector<std::string> remarks;  ///< what was assumed, or is in the record but not modelled

  /// predicted / measured - 1
  [[nodiscard]] double error() const { return predicted / measured - 1.0; }
};

/// Checks records in the format of calibration/measured/megatron_ci_memory.json: torch's allocated
/// bytes between steps and at the peak, on the last rank.
/// @throws std::runtime_error when the document has another shape.
[[nodiscard]] std::vector<MemoryCheck> check_megatron_memory(const nlohmann::json& document,
                                                             const RunCatalog& catalog);

/// Checks the memory figures of measured runs, and whether they fit where the source says so.
[[nodiscard]] std::vector<MemoryCheck> check_run_memory(const std::vector<RunRecord>& records,
                                                        const RunCatalog& catalog);

/// Errors of the checks of one source and quantity. For `fits`, the errors are shares of wrong
/// answers.
struct MemoryCheckSummary {
  std::string source;
  std::string quantity;
  int count = 0;
  int skipped = 0;
  double bias = 0.0;
  double mape = 0.0;
  double median = 0.0;
  double p90 = 0.0;
  double worst = 0.0;
  std::string worst_id;
};

/// One summary per source and quantity in order of first appearance, then one per quantity with the
/// source "all".
[[nodiscard]] std::vector<MemoryCheckSummary> summarize(const std::vector<MemoryCheck>& checks);

}  // namespace foretrain
