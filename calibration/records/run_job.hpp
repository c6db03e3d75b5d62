// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/records/run_catalog.hpp"
#include "calibration/records/run_record.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// A measured run as a job, or why it cannot be one.
struct RunJob {
  std::optional<Job> job;
  std::string why;                       ///< of a record that cannot be expressed
  std::vector<std::string> assumptions;  ///< what the source does not say and was filled in
  /// What the run may have been as well, where an assumption changes the time of a step: the band
  /// of its forecast holds theirs too. Each is legal and modelled.
  std::vector<Job> alternatives;
  /// What the run recomputed is unknown: the alternatives differ in it, too.
  bool recompute_unknown = false;
};

/// What in a record no job can say, for memory and time alike; empty where a job says it all.
[[nodiscard]] std::string beyond_jobs(const RunRecord& record);

/// Assumptions on which memory turns: how plans whose records do not say it are priced.
inline constexpr std::string_view no_recomputation = "no recomputation";
inline constexpr std::string_view unsharded_optimizer = "ZeRO stage 0";

/// Expresses a record as a job of as many GPUs as its layout has, with the profiles of its source
/// family (run_source.hpp). One mapping for memory and time. Whether the plan is legal, and whether
/// this version models it, is for the caller to ask (models/rules/plan_rules.hpp).
[[nodiscard]] RunJob run_job(const RunRecord& record, const RunCatalog& catalog);

}  // namespace foretrain
