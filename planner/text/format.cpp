// SPDX-License-Identifier: Apache-2.0

#include "planner/text/format.hpp"

#include <fmt/format.h>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

constexpr const char* unknown = "unknown";

/// Puts a comma after every third digit of the whole part.
std::string group_digits(const std::string& number) {
  const std::size_t first = number.starts_with('-') ? 1 : 0;
  const std::size_t point = std::min(number.find('.'), number.size());
  std::string result = number.substr(0, first);
  for (std::size_t at = first; at < point; ++at) {
    if (at > first && (point - at) % 3 == 0) result += ',';
    result += number[at];
  }
  return result + number.substr(point);
}

std::string scaled(double value, const auto& units, std::string_view suffix) {
  if (!std::isfinite(value)) return unknown;
  for (const auto& [scale, name] : units)
    // 999.95 of a unit would print as 1,000: the next unit reads better.
    if (std::abs(value) >= scale * 0.9995)
      return fmt::format("{} {}{}", significant_text(value / scale), name, suffix);
  return fmt::format("{} {}", significant_text(value), suffix);
}

}  // namespace

std::string with_thousands(std::int64_t value) { return group_digits(fmt::format("{}", value)); }

std::string fixed_text(double value, int decimals) {
  if (!std::isfinite(value)) return unknown;
  std::string digits = fmt::format("{:.{}f}", value, decimals);
  // "-0.0" is a rounding artefact, not a sign.
  if (digits.starts_with('-') && digits.find_first_not_of("-0.") == std::string::npos)
    digits.erase(0, 1);
  return group_digits(digits);
}

std::string significant_text(double value) {
  if (!std::isfinite(value)) return unknown;
  const double size = std::abs(value);
  if (size == 0.0) return "0";
  if (size >= 999.5) return fixed_text(value, 0);
  if (size >= 99.95) return fixed_text(value, 0);
  if (size >= 9.995) return fixed_text(value, 1);
  if (size >= 0.9995) return fixed_text(value, 2);
  const int decimals = std::min(9, 2 - static_cast<int>(std::floor(std::log10(size))));
  return fixed_text(value, decimals);
}

std::string count_text(double value) {
  static constexpr std::array<std::pair<double, std::string_view>, 4> units{
      {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}}};
  if (!std::isfinite(value)) return unknown;
  if (std::abs(value) < 1e4) return significant_text(value);
  return scaled(value, units, "");
}

std::string bytes_text(Bytes value) {
  if (!is_finite(value)) return unknown;
  const double size = std::abs(value.value());
  if (size >= GiB.value() * 1024.0) return fixed_text(value.in(GiB) / 1024.0, 2) + " TiB";
  if (size >= GiB.value() * 0.09995) return fixed_text(value.in(GiB), 1) + " GiB";
  if (size >= MiB.value() * 0.09995) return fixed_text(value.in(MiB), 1) + " MiB";
  if (size >= KiB.value()) return fixed_text(value.in(KiB), 1) + " KiB";
  return fixed_text(value.value(), 0) + " B";
}

std::string seconds_text(Seconds value) {
  if (!is_finite(value)) return unknown;
  const double size = std::abs(value.value());
  if (size < 0.5e-9) return "0 s";  // no clock tells less: it is what rounding leaves
  if (size >= 0.9995) return significant_text(value.value()) + " s";
  if (size >= 0.9995e-3) return significant_text(value.in(ms)) + " ms";
  return significant_text(value.in(us)) + " us";
}

std::string duration_text(Seconds value) {
  if (!is_finite(value)) return unknown;
  if (value >= 2.0 * days) return significant_text(value.in(days)) + " days";
  if (value >= 2.0 * hours) return significant_text(value.in(hours)) + " hours";
  if (value >= 2.0 * minutes) return significant_text(value.in(minutes)) + " minutes";
  return seconds_text(value);
}

std::string percent_text(double share) {
  if (!std::isfinite(share)) return unknown;
  return fixed_text(share * 100.0, 1) + " %";
}

std::string rate_text(FlopPerSecond value) {
  if (!is_finite(value)) return unknown;
  const double tera = value.in(TFLOPS);
  const bool whole = std::abs(tera - std::round(tera)) < 0.05;
  return fixed_text(tera, whole ? 0 : 1) + " TFLOP/s";
}

std::string flop_text(Flop value) {
  static constexpr std::array<std::pair<double, std::string_view>, 6> units{
      {{1e24, "Y"}, {1e21, "Z"}, {1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}}};
  return scaled(value.value(), units, "FLOP");
}

std::string energy_text(Joules value) {
  if (!is_finite(value)) return unknown;
  const double kilowatt_hours = value.in(kWh);
  if (std::abs(kilowatt_hours) >= 1e6) return significant_text(kilowatt_hours / 1e6) + " GWh";
  if (std::abs(kilowatt_hours) >= 1e3) return significant_text(kilowatt_hours / 1e3) + " MWh";
  return significant_text(kilowatt_hours) + " kWh";
}

std::string dollars_text(Dollars value) {
  if (!is_finite(value)) return unknown;
  const double size = std::abs(value.value());
  return "$" + fixed_text(value.value(), size < 1.0 && size > 0.0 ? 3 : size < 1000.0 ? 2 : 0);
}

namespace {

constexpr std::int64_t largest = 1'000'000'000'000;

}  // namespace

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

std::optional<NumberRange> number_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  std::string_view last = text.substr(dots + 2);
  NumberRange range;
  const std::size_t sign = last.find_first_of("+:*");
  if (sign != std::string_view::npos) {
    const auto by = whole_number(last.substr(sign + 1));
    if (!by) return std::nullopt;
    range.by = *by;
    range.way = last[sign] == '*' ? NumberRange::Way::multiplies : NumberRange::Way::adds;
    last = last.substr(0, sign);
  }
  const auto from = whole_number(text.substr(0, dots));
  const auto to = whole_number(last);
  if (!from || !to) return std::nullopt;
  range.first = *from;
  range.last = *to;
  return range;
}

std::vector<std::int64_t> numbers_of(const NumberRange& range, const std::string& where,
                                     std::size_t most) {
  const auto refuse = [&](const std::string& why) { throw UsageError(where + " " + why); };
  const bool multiplies = range.way == NumberRange::Way::multiplies;
  if (range.last < range.first) refuse("is empty: it ends before it starts");
  if (range.first < -largest || range.last > largest) refuse("has numbers beyond 10^12");
  if (multiplies && (range.first < 1 || range.by < 2 || range.by > largest))
    refuse("needs a first number of 1 or more and a factor of 2 or more");
  if (!multiplies && (range.by < 1 || range.by > largest)) refuse("needs a step of 1 or more");
  std::vector<std::int64_t> values;
  for (std::int64_t at = range.first; at <= range.last;) {
    if (values.size() >= most) refuse(fmt::format("makes more than {} numbers", most));
    values.push_back(at);
    if (multiplies && at > range.last / range.by) break;
    at = multiplies ? at * range.by : at + range.by;
  }
  return values;
}

namespace {

using UnitFactor = std::pair<std::string_view, double>;

constexpr double day = 86400.0;
constexpr auto money_units =
    std::to_array<UnitFactor>({{"USD", 1.0}, {"k USD", 1e3}, {"M USD", 1e6}, {"B USD", 1e9}});
constexpr auto power_units = std::to_array<UnitFactor>({{"W", 1.0}, {"kW", 1e3}, {"MW", 1e6}});
constexpr double kibi = 1024.0;
constexpr auto byte_units = std::to_array<UnitFactor>(
    {{"GiB", kibi* kibi* kibi}, {"MiB", kibi* kibi}, {"GB", 1e9}, {"MB", 1e6}, {"B", 1.0}});
constexpr auto share_units = std::to_array<UnitFactor>({{"", 1.0}, {"%", 0.01}});

/// A number and what stands behind it, blanks between removed.
struct Written {
  double number = 0.0;
  std::string unit;
};

Written written(const std::string& option, const std::string& text, std::string_view example) {
  Written result;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, result.number);
  if (error != std::errc{} || !std::isfinite(result.number))
    throw UsageError(fmt::format("{} {}: not a number with a unit, as in \"{}\"", option,
                                 in_quotes(text), example));
  result.unit.assign(stopped, end);
  const std::size_t first = result.unit.find_first_not_of(' ');
  result.unit.erase(0, first == std::string::npos ? result.unit.size() : first);
  while (result.unit.ends_with(' ')) result.unit.pop_back();
  return result;
}

double scaled(const std::string& option, const std::string& text, std::span<const UnitFactor> units,
              std::string_view example, bool zero_too = false) {
  const Written value = written(option, text, example);
  for (const auto& [unit, factor] : units) {
    if (unit != value.unit) continue;
    if (value.number < 0.0 || (value.number == 0.0 && !zero_too))
      throw UsageError(fmt::format("{} {}: must be {}", option, in_quotes(text),
                                   zero_too ? "zero or more" : "above zero"));
    return value.number * factor;
  }
  std::string known;
  for (const auto& [unit, factor] : units)
    if (!unit.empty()) known += fmt::format("{}{}", known.empty() ? "" : ", ", unit);
  throw UsageError(fmt::format("{} {}: the unit {} is none of {}; write it as \"{}\"", option,
                               in_quotes(text), in_quotes(value.unit), known, example));
}

bool looks_like_a_date(const std::string& text) {
  return text.size() == 10 && text[4] == '-' && text[7] == '-';
}

}  // namespace

std::chrono::sys_days date_value(const std::string& option, const std::string& text) {
  const auto part = [&](std::size_t from, std::size_t length) {
    int value = -1;
    const char* first = text.data() + from;
    const auto [stopped, error] = std::from_chars(first, first + length, value);
    return error == std::errc{} && stopped == first + length ? value : -1;
  };
  if (looks_like_a_date(text)) {
    const int year = part(0, 4);
    const int month = part(5, 2);
    const int day_of_month = part(8, 2);
    const std::chrono::year_month_day date{std::chrono::year{year},
                                           std::chrono::month{static_cast<unsigned>(month)},
                                           std::chrono::day{static_cast<unsigned>(day_of_month)}};
    if (year >= 0 && month >= 0 && day_of_month >= 0 && date.ok()) return date;
  }
  throw UsageError(fmt::format("{} {}: not a date, as in 2027-03-01", option, in_quotes(text)));
}

Seconds duration_value(const std::string& option, const std::string& text) {
  constexpr std::string_view example = "30 days";
  const Written value = written(option, text, example);
  const Unit* const unit = find_unit(value.unit, Dimension::time);
  if (unit == nullptr)
    throw UsageError(fmt::format("{} {}: the unit {} is none of {}; write it as \"{}\"", option,
                                 in_quotes(text), in_quotes(value.unit), unit_list(Dimension::time),
                                 example));
  if (value.number <= 0.0)
    throw UsageError(fmt::format("{} {}: must be above zero", option, in_quotes(text)));
  return Seconds{value.number * unit->multiplier / unit->divisor};
}

Seconds deadline_value(const std::string& option, const std::string& text,
                       std::chrono::sys_days start) {
  if (!looks_like_a_date(text)) return duration_value(option, text);
  const std::chrono::sys_days end = date_value(option, text);
  const std::chrono::year_month_day from{start};
  if (end <= start)
    throw UsageError(fmt::format(
        "{} {} is in the past: the run starts on {}-{:02}-{:02}; --start gives another day", option,
        text, static_cast<int>(from.year()), static_cast<unsigned>(from.month()),
        static_cast<unsigned>(from.day())));
  return Seconds{static_cast<double>((end - start).count()) * day};
}

Dollars money_value(const std::string& option, const std::string& text) {
  const Written value = written(option, text, "2.5 M USD");
  const std::string& unit = value.unit;
  if (unit.empty() || unit == "k" || unit == "M" || unit == "B")
    throw UsageError(fmt::format("{} {}: money needs its currency, as in \"2.5 M USD\"", option,
                                 in_quotes(text)));
  if (!unit.ends_with("USD"))
    throw UsageError(fmt::format(
        "{} {}: scenarios price in USD, so give the sum in USD, at your rate of exchange", option,
        in_quotes(text)));
  return Dollars{scaled(option, text, money_units, "2.5 M USD")};
}

Watts power_value(const std::string& option, const std::string& text) {
  return Watts{scaled(option, text, power_units, "10 MW")};
}

Bytes bytes_value(const std::string& option, const std::string& text) {
  return Bytes{scaled(option, text, byte_units, "4 GiB", true)};
}

double share_value(const std::string& option, const std::string& text) {
  return scaled(option, text, share_units, "10 %");
}

}  // namespace foretrain
