// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/forecast/report.hpp"

namespace foretrain {

/// The forecast as JSON, schema prediction/1: key names carry units, unknown values are null.
/// Numbers round-trip, keys keep their order, and equal reports give equal bytes.
[[nodiscard]] std::string report_json(const Report& report);

}  // namespace foretrain
