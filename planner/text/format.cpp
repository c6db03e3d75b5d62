// SPDX-License-Identifier: Apache-2.0
#include "planner/text/format.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>
#include <utility>

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

}  // namespace foretrain
