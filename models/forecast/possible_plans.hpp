// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/inputs/job.hpp"

namespace foretrain {

/// What a plan may be whose recomputation is unknown: the job with nothing recomputed, with the
/// attention, and with whole layers. models/forecast/README.md, "Unknown recomputation".
[[nodiscard]] std::vector<Job> possible_plans(const Job& job);

/// One of those, forecast.
struct PossiblePlan {
  std::string_view recompute;  ///< name of its kind
  Seconds step;                ///< zero: it cannot run, or was not asked for
  Bytes peak;                  ///< of the heaviest stage
  bool fits = true;
};

/// What the range is, what each plan would be, and that somebody should find out which it is.
[[nodiscard]] std::string unknown_recompute_text(const std::vector<PossiblePlan>& plans);

}  // namespace foretrain
