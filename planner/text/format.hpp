// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/quantity.hpp"

namespace foretrain {

/// Numbers as people read them. Independent of the locale; values that are not finite print as
/// "unknown". JSON and CSV never go through here.

/// 1234567 -> "1,234,567".
[[nodiscard]] std::string with_thousands(std::int64_t value);
/// Fixed decimals with thousands separators: 1234.5 -> "1,234.5".
[[nodiscard]] std::string fixed_text(double value, int decimals);
/// About three significant digits, never an exponent: 8.3123 -> "8.31", 476837 -> "476,837".
[[nodiscard]] std::string significant_text(double value);
/// Counts with the usual letters: 6.9e10 -> "69.0 B", 2e12 -> "2.00 T".
[[nodiscard]] std::string count_text(double value);
/// Binary units, one decimal: "62.1 GiB", "25.0 MiB".
[[nodiscard]] std::string bytes_text(Bytes value);
/// Step-scale times: "8.31 s", "12.4 ms", "850 us"; what rounding leaves (under 0.5 ns): "0 s".
[[nodiscard]] std::string seconds_text(Seconds value);
/// Run-scale times: "24.1 days", "3.20 hours", "45.0 minutes", below a minute as seconds_text().
[[nodiscard]] std::string duration_text(Seconds value);
/// 0.451 -> "45.1 %".
[[nodiscard]] std::string percent_text(double share);
/// "989.5 TFLOP/s".
[[nodiscard]] std::string rate_text(FlopPerSecond value);
/// "7.03e+17 FLOP" would not be readable: scaled to PFLOP, EFLOP, ZFLOP.
[[nodiscard]] std::string flop_text(Flop value);
/// "25.3 GWh", "1.20 MWh", "3.10 kWh".
[[nodiscard]] std::string energy_text(Joules value);
/// "$2,817,500".
[[nodiscard]] std::string dollars_text(Dollars value);

/// Whole numbers in short: FIRST..LAST, FIRST..LAST+STEP (or :STEP), FIRST..LAST*FACTOR.
struct NumberRange {
  enum class Way { plain, adds, multiplies };

  std::int64_t first = 0;
  std::int64_t last = 0;
  Way way = Way::plain;  ///< plain means what its command says: doubling, or counting by one
  std::int64_t by = 1;   ///< step or factor
};

/// A decimal whole number and nothing else.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text);

/// Nothing for any other text.
[[nodiscard]] std::optional<NumberRange> number_range(std::string_view text);

/// Its numbers, upwards from the first; a plain range counts by one.
/// @throws UsageError, prefixed by `where`, for a range that is empty, does not advance, or has
/// more than `most` numbers
[[nodiscard]] std::vector<std::int64_t> numbers_of(const NumberRange& range,
                                                   const std::string& where, std::size_t most);

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
