// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "planner/answer/quantity.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

std::string number_text(Measure measure, double number) {
  switch (measure) {
    case Measure::text:
    case Measure::flag:
    case Measure::whole:
      return fmt::format("{:.0f}", number);
    case Measure::count:
    case Measure::kilograms:
      break;
    case Measure::tokens:
      return count_text(number);
    case Measure::seconds:
      return seconds_text(Seconds{number});
    case Measure::duration:
      return duration_text(Seconds{number});
    case Measure::bytes:
      return bytes_text(Bytes{number});
    case Measure::flop:
      return flop_text(Flop{number});
    case Measure::flop_rate:
      return rate_text(FlopPerSecond{number});
    case Measure::tflop_rate:
      return significant_text(number) + " TFLOP/s";
    case Measure::token_rate:
      return fixed_text(number, 0) + " tokens/s";
    case Measure::token_rate_per_gpu:
      return significant_text(number) + " tokens/s per GPU";
    case Measure::share:
      return percent_text(number);
    case Measure::dollars:
      return dollars_text(Dollars{number});
    case Measure::kwh:
      return energy_text(number * kWh);
    case Measure::watts:
      return significant_text(number / 1000.0) + " kW";
    case Measure::small_watts:
      return fixed_text(number, 0) + " W";
    case Measure::watts_per_second:
      return significant_text(number / 1000.0) + " kW/s";
  }
  return significant_text(number);
}

}  // namespace

std::string quantity_text(Measure measure, const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  const double* number = std::get_if<double>(&value);
  return number == nullptr ? "unknown" : number_text(measure, *number);
}

std::string quantity_text(std::string_view path, std::optional<double> number) {
  const Measure measure = measure_of(path);
  constexpr double exact = 1e15;
  const bool whole = number && std::abs(*number) < exact && *number == std::trunc(*number);
  if (whole && measure == Measure::count && !quantities().find(path))
    return with_thousands(static_cast<std::int64_t>(*number));
  return quantity_text(measure, number ? Value{*number} : Value{});
}

std::string range_text(std::string_view path, const Banded& range) {
  const std::string low = quantity_text(path, range.low);
  if (std::isinf(range.high)) return "from " + low + ", no upper bound";
  return low + " to " + quantity_text(path, range.high);
}

Measure measure_of(std::string_view path) {
  const auto found = quantities().find(path);
  return found ? found->quantity->measure : measure_by_unit(path);
}

Dimension dimension_of(Measure measure) {
  switch (measure) {
    case Measure::seconds:
    case Measure::duration:
      return Dimension::time;
    case Measure::bytes:
      return Dimension::bytes;
    case Measure::dollars:
      return Dimension::money;
    case Measure::watts:
    case Measure::small_watts:
      return Dimension::power;
    default:
      return Dimension::count;
  }
}

}  // namespace foretrain
