// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace foretrain {

/// What a number in a file measures. Parsed values are in the base unit of `Quantity`.
enum class Dimension {
  none,
  bytes,         ///< byte
  bandwidth,     ///< byte/s
  time,          ///< s
  flop_rate,     ///< FLOP/s
  power,         ///< W
  energy,        ///< J
  count,         ///< a pure number; k, M, B (or G) and T stand for thousand to trillion
  price,         ///< USD per GPU and second
  money,         ///< USD
  spending,      ///< USD/s
  energy_price,  ///< USD/J
  carbon,        ///< kg/J
  frequency,     ///< 1/s
};

/// A unit: value in base units = number * multiplier / divisor. Two factors keep every
/// unit exact: 3 us is 3 / 1e6, the double nearest to 0.000003.
struct Unit {
  std::string_view name;
  double multiplier = 1.0;
  double divisor = 1.0;
};

/// Legal units of a dimension, smallest first. For `count` the empty unit is legal too.
[[nodiscard]] std::span<const Unit> units_of(Dimension dimension);
/// Units that are read beside units_of() and never written: of time, weeks, months of 30 days,
/// years of 365 days, and spelled-out names ("days").
[[nodiscard]] std::span<const Unit> words_of(Dimension dimension);
/// The unit of that name, in units_of() or words_of(); null when there is none.
[[nodiscard]] const Unit* find_unit(std::string_view name, Dimension dimension);
/// "B, kB, MB, ..." for messages.
[[nodiscard]] std::string unit_list(Dimension dimension);
/// What to call it in a message: "size", "bandwidth", "time", ...
[[nodiscard]] std::string_view dimension_name(Dimension dimension);

/// Outcome of a strict parse: a value, or what is wrong with the text.
template <class T>
struct Parsed {
  std::optional<T> value;
  std::string error;  ///< empty exactly when there is a value
};

/// Decimal integer: optional minus, digits, no leading zero. Independent of the locale.
[[nodiscard]] Parsed<std::int64_t> parse_integer(std::string_view text);
/// Decimal number: as an integer, with optional fraction and exponent. Always finite.
[[nodiscard]] Parsed<double> parse_number(std::string_view text);
/// `true` or `false`, nothing else (YAML 1.1's yes/no/on/off are refused).
[[nodiscard]] Parsed<bool> parse_boolean(std::string_view text);
/// Number and unit, e.g. "25 MiB"; the blank is optional. @pre dimension != none.
[[nodiscard]] Parsed<double> parse_quantity(std::string_view text, Dimension dimension);

/// Shortest decimal text that parse_number() reads back exactly. @pre value is finite.
[[nodiscard]] std::string format_number(double value);
/// The text a person would write, e.g. "25 MiB" or "30 min". parse_quantity() reads back exactly
/// the same value if it can produce that value at all. @pre value is finite; dimension != none.
[[nodiscard]] std::string format_quantity(double value, Dimension dimension);

}  // namespace foretrain
