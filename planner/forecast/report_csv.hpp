// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/answer/quantity.hpp"
#include "planner/forecast/report.hpp"

namespace foretrain {

/// One header row and one row per forecast, RFC 4180 (CRLF line ends, quotes where needed); unknown
/// values are empty. Columns keep their names; new numbers come at their place in the JSON.
[[nodiscard]] std::string report_csv(const std::vector<Report>& reports,
                                     const Quantities& table = quantities());

}  // namespace foretrain
