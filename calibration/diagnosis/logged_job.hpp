// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/records/run_catalog.hpp"
#include "calibration/training_logs/training_log.hpp"
#include "models/inputs/job.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// The plan that a log states, as a job.
struct LoggedJob {
  std::optional<Job> job;
  std::vector<std::string> missing;      ///< keys of the record that must be known and are not
  std::string why;                       ///< of a plan that cannot be a job, though all is known
  std::vector<std::string> assumptions;  ///< what the log does not say and was filled in
};

/// Makes a job of the record of a log (log_record.hpp).
/// @param fill keys of the record and their values ("gpu", "H100 SXM"; "model.layers", "32"), which
///   count before those of the log
[[nodiscard]] LoggedJob logged_job(const TrainingLog& log,
                                   const std::vector<std::pair<std::string, std::string>>& fill,
                                   const RunCatalog& catalog, Diagnostics& diagnostics);

}  // namespace foretrain
