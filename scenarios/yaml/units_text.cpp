// SPDX-License-Identifier: Apache-2.0
#include "scenarios/yaml/units_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include <fmt/format.h>

#include "models/base/require.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

constexpr double KiB_factor = 1024.0;
constexpr double MiB_factor = 1024.0 * 1024.0;
constexpr double GiB_factor = 1024.0 * 1024.0 * 1024.0;
constexpr double TiB_factor = 1024.0 * 1024.0 * 1024.0 * 1024.0;

constexpr auto byte_units = std::to_array<Unit>({{"B"},
                                                 {"kB", 1e3},
                                                 {"KiB", KiB_factor},
                                                 {"MB", 1e6},
                                                 {"MiB", MiB_factor},
                                                 {"GB", 1e9},
                                                 {"GiB", GiB_factor},
                                                 {"TB", 1e12},
                                                 {"TiB", TiB_factor}});
constexpr auto bandwidth_units = std::to_array<Unit>({{"bit/s", 1.0, 8.0},
                                                      {"B/s"},
                                                      {"Kbit/s", 1e3, 8.0},
                                                      {"kB/s", 1e3},
                                                      {"Mbit/s", 1e6, 8.0},
                                                      {"MB/s", 1e6},
                                                      {"MiB/s", MiB_factor},
                                                      {"Gbit/s", 1e9, 8.0},
                                                      {"GB/s", 1e9},
                                                      {"GiB/s", GiB_factor},
                                                      {"Tbit/s", 1e12, 8.0},
                                                      {"TB/s", 1e12}});
constexpr auto time_units = std::to_array<Unit>({{"ns", 1.0, 1e9},
                                                 {"us", 1.0, 1e6},
                                                 {"ms", 1.0, 1e3},
                                                 {"s"},
                                                 {"min", 60.0},
                                                 {"h", 3600.0},
                                                 {"d", 86400.0}});
/// Read and never written: what format_quantity() writes stays in days. The first ones are in
/// unit_list(), the rest are other spellings.
constexpr auto time_words = std::to_array<Unit>({{"week", 7 * 86400.0},
                                                 {"month", 30 * 86400.0},
                                                 {"year", 365 * 86400.0},
                                                 {"weeks", 7 * 86400.0},
                                                 {"wk", 7 * 86400.0},
                                                 {"months", 30 * 86400.0},
                                                 {"years", 365 * 86400.0},
                                                 {"day", 86400.0},
                                                 {"days", 86400.0},
                                                 {"hour", 3600.0},
                                                 {"hours", 3600.0},
                                                 {"hr", 3600.0},
                                                 {"hrs", 3600.0},
                                                 {"minute", 60.0},
                                                 {"minutes", 60.0}});
constexpr std::size_t listed_time_words = 3;
constexpr auto flop_rate_units =
    std::to_array<Unit>({{"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}});
constexpr auto power_units = std::to_array<Unit>({{"W"}, {"kW", 1e3}});
constexpr auto energy_units = std::to_array<Unit>({{"J"}, {"kWh", 3.6e6}});
constexpr auto count_units =
    std::to_array<Unit>({{""}, {"k", 1e3}, {"M", 1e6}, {"B", 1e9}, {"G", 1e9}, {"T", 1e12}});
constexpr auto price_units = std::to_array<Unit>({{"USD/GPU-hour", 1.0, 3600.0}});
constexpr auto money_units = std::to_array<Unit>({{"USD"}, {"kUSD", 1e3}, {"MUSD", 1e6}});
constexpr double year = 365.0 * 86400.0;
constexpr auto spending_units = std::to_array<Unit>({{"USD/year", 1.0, year},
                                                     {"USD/h", 1.0, 3600.0},
                                                     {"kUSD/year", 1e3, year},
                                                     {"MUSD/year", 1e6, year}});
constexpr auto energy_price_units =
    std::to_array<Unit>({{"USD/MWh", 1.0, 3.6e9}, {"USD/kWh", 1.0, 3.6e6}});
constexpr auto carbon_units = std::to_array<Unit>({{"g/kWh", 1e-3, 3.6e6}, {"kg/kWh", 1.0, 3.6e6}});
constexpr auto frequency_units = std::to_array<Unit>({{"per year", 1.0, year},
                                                      {"per month", 1.0, 30 * 86400.0},
                                                      {"per week", 1.0, 7 * 86400.0},
                                                      {"per day", 1.0, 86400.0},
                                                      {"per h", 1.0, 3600.0},
                                                      {"per min", 1.0, 60.0},
                                                      {"per s"}});
/// Read and never written.
constexpr auto frequency_words = std::to_array<Unit>({{"per d", 1.0, 86400.0},
                                                      {"per hour", 1.0, 3600.0},
                                                      {"per minute", 1.0, 60.0},
                                                      {"per second"},
                                                      {"/year", 1.0, year},
                                                      {"/month", 1.0, 30 * 86400.0},
                                                      {"/week", 1.0, 7 * 86400.0},
                                                      {"/day", 1.0, 86400.0},
                                                      {"/d", 1.0, 86400.0},
                                                      {"/h", 1.0, 3600.0},
                                                      {"/hour", 1.0, 3600.0},
                                                      {"/min", 1.0, 60.0},
                                                      {"/s"}});

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_from(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

/// Length of the longest prefix that is a decimal number, 0 for none.
std::size_t number_length(std::string_view text) {
  std::size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
  const std::size_t whole = digits_from(text, at);
  if (whole == 0 || (whole > 1 && text[at] == '0')) return 0;
  at += whole;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = digits_from(text, at + 1);
    if (fraction > 0) at += 1 + fraction;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t exponent = at + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    const std::size_t digits = digits_from(text, exponent);
    if (digits > 0) at = exponent + digits;
  }
  return at;
}

/// Why `text`, which is no decimal number, looks like one; empty when it does not.
std::string number_trap(std::string_view text) {
  const std::size_t start = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::string_view body = text.substr(start);
  const std::size_t digits = digits_from(body, 0);
  if (!body.empty() && text[0] == '+') return "a leading + is not allowed";
  if (body.substr(0, 2) == "0x" || body.substr(0, 2) == "0X")
    return "hexadecimal numbers are not allowed";
  if (body.substr(0, 2) == "0o" || (digits > 1 && body[0] == '0'))
    return "a leading zero is not allowed, because YAML readers disagree whether it means octal";
  if (body.size() > 1 && body[0] == '.' && is_digit(body[1])) return "write a 0 before the point";
  if (digits == 0 || digits >= body.size()) return {};
  const char next = body[digits];
  if (next == '_' || next == ',') return "digit separators are not allowed";
  if (next == ':') return "clock notation is not allowed";
  if (next == '.' && (digits + 1 == body.size() || !is_digit(body[digits + 1])))
    return "a point needs a digit after it";
  return {};
}

std::string not_a(std::string_view what, std::string_view text) {
  const std::string trap = number_trap(text);
  return fmt::format("{} is not {}{}", in_quotes(text), what, trap.empty() ? "" : ": " + trap);
}

/// from_chars on a text that number_length() accepted; nothing when it does not fit a double.
std::optional<double> convert(std::string_view text) {
  double value = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

bool is_money(Dimension dimension) {
  return dimension == Dimension::price || dimension == Dimension::money ||
         dimension == Dimension::spending || dimension == Dimension::energy_price;
}

double to_base(double value, const Unit& unit) { return value * unit.multiplier / unit.divisor; }

std::string quantity_error(std::string_view text, Dimension dimension) {
  const std::string trap = number_trap(text);
  if (!trap.empty())
    return fmt::format("{} is not a {}: {}", in_quotes(text), dimension_name(dimension), trap);
  if (dimension == Dimension::count)
    return fmt::format(
        "{} is not a count; write a number, with k, M, B, G or T for thousand to "
        "trillion if you like (\"2 T\")",
        in_quotes(text));
  return fmt::format("{} is not a {}; write a number and a unit out of {}{}", in_quotes(text),
                     dimension_name(dimension), unit_list(dimension),
                     is_money(dimension) ? "; convert other currencies at a rate of your own" : "");
}

double from_base(double value, const Unit& unit) { return value * unit.divisor / unit.multiplier; }

/// The text of `value` in `unit`, if reading it gives exactly `value` again. The division may be
/// off by a rounding; then one of the neighbours is right.
std::optional<std::string> exact_text(double value, const Unit& unit) {
  const double guess = from_base(value, unit);
  if (!std::isfinite(guess)) return std::nullopt;
  const double inf = std::numeric_limits<double>::infinity();
  for (const double candidate : {guess, std::nextafter(guess, -inf), std::nextafter(guess, inf)}) {
    if (to_base(candidate, unit) == value) return format_number(candidate);
  }
  return std::nullopt;
}

int significant_digits(std::string_view text) {
  int digits = 0;
  int trailing = 0;
  for (const char c : text.substr(0, text.find('e'))) {
    if (!is_digit(c) || (digits == 0 && c == '0')) continue;
    ++digits;
    trailing = c == '0' ? trailing + 1 : 0;
  }
  return digits - trailing;
}

/// How readable a value is in a unit: fewer digits first, then between 1 and 1000, then in bytes
/// rather than bits, then in the larger unit. Smaller is better.
std::array<double, 4> awkwardness(double value, const Unit& unit, std::string_view text) {
  const double size = std::abs(from_base(value, unit));
  const bool base = unit.multiplier == 1.0 && unit.divisor == 1.0;
  const bool handy = value == 0.0 ? base : size >= 1.0 && size < 1000.0;
  const bool second_choice = unit.name.find("bit") != std::string_view::npos || unit.name == "G";
  return {handy ? 0.0 : 4.0, static_cast<double>(significant_digits(text)),
          second_choice ? 1.0 : 0.0, -unit.multiplier / unit.divisor};
}

}  // namespace

std::span<const Unit> units_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::none:
      return {};
    case Dimension::bytes:
      return byte_units;
    case Dimension::bandwidth:
      return bandwidth_units;
    case Dimension::time:
      return time_units;
    case Dimension::flop_rate:
      return flop_rate_units;
    case Dimension::power:
      return power_units;
    case Dimension::energy:
      return energy_units;
    case Dimension::count:
      return count_units;
    case Dimension::price:
      return price_units;
    case Dimension::money:
      return money_units;
    case Dimension::spending:
      return spending_units;
    case Dimension::energy_price:
      return energy_price_units;
    case Dimension::carbon:
      return carbon_units;
    case Dimension::frequency:
      return frequency_units;
  }
  return {};
}

std::span<const Unit> words_of(Dimension dimension) {
  if (dimension == Dimension::time) return time_words;
  if (dimension == Dimension::frequency) return frequency_words;
  return {};
}

std::string unit_list(Dimension dimension) {
  std::string result;
  const auto add = [&](const Unit& unit) {
    if (unit.name.empty()) return;
    if (!result.empty()) result += ", ";
    result += unit.name;
  };
  for (const Unit& unit : units_of(dimension)) add(unit);
  if (dimension == Dimension::time)
    for (const Unit& unit : std::span(time_words).first(listed_time_words)) add(unit);
  return result;
}

const Unit* find_unit(std::string_view name, Dimension dimension) {
  for (const std::span<const Unit> units : {units_of(dimension), words_of(dimension)})
    for (const Unit& unit : units)
      if (unit.name == name) return &unit;
  return nullptr;
}

std::string_view dimension_name(Dimension dimension) {
  // In the order of Dimension.
  static constexpr std::array<std::string_view, 14> names{"number",
                                                          "size",
                                                          "bandwidth",
                                                          "time",
                                                          "FLOP rate",
                                                          "power",
                                                          "amount of energy",
                                                          "count",
                                                          "price",
                                                          "amount of money",
                                                          "spending rate",
                                                          "price of energy",
                                                          "carbon intensity",
                                                          "rate"};
  return names.at(static_cast<std::size_t>(dimension));
}

Parsed<std::int64_t> parse_integer(std::string_view text) {
  const std::size_t length = number_length(text);
  if (length == 0 || length != text.size()) return {{}, not_a("an integer", text)};
  const bool negative = text[0] == '-';
  if (digits_from(text, negative ? 1 : 0) + (negative ? 1 : 0) != text.size())
    return {{},
            fmt::format("{} is not an integer; write it without fraction or exponent",
                        in_quotes(text))};
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size())
    return {{}, fmt::format("{} is too large for an integer", in_quotes(text))};
  return {value, {}};
}

Parsed<double> parse_number(std::string_view text) {
  const std::size_t length = number_length(text);
  if (length == 0 || length != text.size()) return {{}, not_a("a decimal number", text)};
  const auto value = convert(text);
  if (!value)
    return {{}, fmt::format("{} is too large or too small for a number", in_quotes(text))};
  return {*value, {}};
}

Parsed<bool> parse_boolean(std::string_view text) {
  if (text == "true") return {true, {}};
  if (text == "false") return {false, {}};
  return {{}, fmt::format("{} is neither true nor false", in_quotes(text))};
}

Parsed<double> parse_quantity(std::string_view text, Dimension dimension) {
  FORETRAIN_REQUIRE(dimension != Dimension::none);
  const std::size_t length = number_length(text);
  if (length == 0) return {{}, quantity_error(text, dimension)};
  std::string_view rest = text.substr(length);
  if (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
  const Unit* const unit = find_unit(rest, dimension);
  if (unit != nullptr && (!rest.empty() || length == text.size())) {
    const auto number = convert(text.substr(0, length));
    const double value = number ? to_base(*number, *unit) : 0.0;
    if (!number || !std::isfinite(value))
      return {{}, fmt::format("{} is too large or too small", in_quotes(text))};
    return {value, {}};
  }
  if (rest.empty())
    return {{},
            fmt::format("{} has no {}; write a {} with a unit out of {}", in_quotes(text),
                        is_money(dimension) ? "currency" : "unit", dimension_name(dimension),
                        unit_list(dimension))};
  return {{}, quantity_error(text, dimension)};
}

std::string format_number(double value) {
  FORETRAIN_REQUIRE(std::isfinite(value));
  std::array<char, 400> buffer{};
  // Fixed notation for what people write in full, shortest otherwise (1e+20 reads back as well).
  const double size = std::abs(value);
  const bool fixed = value == 0.0 || (size >= 1e-4 && size < 1e15);
  const auto result = fixed ? std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                            value == 0.0 ? 0.0 : value, std::chars_format::fixed)
                            : std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                            std::chars_format::scientific);
  return {buffer.data(), result.ptr};
}

std::string format_quantity(double value, Dimension dimension) {
  FORETRAIN_REQUIRE(dimension != Dimension::none && std::isfinite(value));
  std::optional<std::string> best;
  std::array<double, 4> best_score{};
  for (const Unit& unit : units_of(dimension)) {
    auto text = exact_text(value, unit);
    if (!text) continue;
    const auto score = awkwardness(value, unit, *text);
    if (best && score >= best_score) continue;
    best_score = score;
    best = *text;
    if (!unit.name.empty()) best->append(1, ' ').append(unit.name);
  }
  if (best) return *best;
  // A computed value that no text in these units reads back as: the nearest one.
  const Unit& unit = units_of(dimension).front();
  return fmt::format("{} {}", format_number(from_base(value, unit)), unit.name);
}

}  // namespace foretrain
