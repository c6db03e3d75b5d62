// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/records/record_check.hpp"
#include "planner/text/json.hpp"

namespace foretrain {

/// Errors of one source, as `calibrate fit --json` and the left-out table write them.
[[nodiscard]] Json summary_json(const CheckSummary& line);

}  // namespace foretrain
