// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace foretrain
