// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "models/base/quantity.hpp"

namespace foretrain {

// Values of limits as people write them on the command line. All throw UsageError naming `option`
// and what would be right.

/// "2027-03-01". @throws UsageError for days that no calendar has
[[nodiscard]] std::chrono::sys_days date_value(const std::string& option, const std::string& text);
/// "30 days", "720 h", "6 weeks"; above zero.
[[nodiscard]] Seconds duration_value(const std::string& option, const std::string& text);
/// The time from `start` to a date, or a duration. @throws UsageError for dates before `start`
[[nodiscard]] Seconds deadline_value(const std::string& option, const std::string& text,
                                     std::chrono::sys_days start);
/// "2.5 M USD"; above zero. @throws UsageError without a currency, and for others than USD, which
/// scenarios price in
[[nodiscard]] Dollars money_value(const std::string& option, const std::string& text);
/// "10 MW", "700 kW".
[[nodiscard]] Watts power_value(const std::string& option, const std::string& text);
/// "4 GiB"; zero or more.
[[nodiscard]] Bytes bytes_value(const std::string& option, const std::string& text);
/// "10 %" or "0.1", as a share; above zero.
[[nodiscard]] double share_value(const std::string& option, const std::string& text);

}  // namespace foretrain
