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

/// A field as RFC 4180 wants it: quoted when it holds a comma, a quote or a line end. A text that a
/// spreadsheet would take for a formula (one that starts with =, +, -, @, and is no number) gets an
/// apostrophe in front of it.
[[nodiscard]] std::string csv_field(const std::string& cell);

}  // namespace foretrain
