// SPDX-License-Identifier: Apache-2.0
#include "planner/text/limit_text.hpp"

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
