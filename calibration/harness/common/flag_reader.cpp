// SPDX-License-Identifier: Apache-2.0

#include "calibration/harness/common/flag_reader.hpp"

#include <charconv>
#include <cmath>
#include <string>

namespace foretrain::harness {

std::optional<std::string> read_flags(const std::vector<std::string>& arguments,
                                      const FlagTable& table) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::size_t equals = arguments[i].find('=');
    const std::string flag = arguments[i].substr(0, equals);
    std::optional<std::string> wrong;
    if (const auto found = table.switches.find(flag); found != table.switches.end()) {
      if (equals != std::string::npos) return flag + " takes no value";
      wrong = found->second("");
    } else if (const auto valued = table.with_value.find(flag); valued != table.with_value.end()) {
      if (equals == std::string::npos && i + 1 == arguments.size()) return flag + " needs a value";
      wrong = valued->second(equals == std::string::npos ? arguments[++i]
                                                         : arguments[i].substr(equals + 1));
    } else {
      return "unknown option '" + flag + "'";
    }
    if (wrong) return flag + ": " + *wrong;
  }
  return std::nullopt;
}

std::optional<std::string> read_whole(const std::string& value, long long least, long long most,
                                      long long& into) {
  long long number = 0;
  const auto end = std::from_chars(value.data(), value.data() + value.size(), number);
  if (end.ec != std::errc{} || end.ptr != value.data() + value.size() || number < least ||
      number > most)
    return "'" + value + "' is not a whole number from " + std::to_string(least) + " to " +
           std::to_string(most);
  into = number;
  return std::nullopt;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t comma = text.find(','); comma != std::string::npos;
       comma = text.find(',', begin)) {
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

namespace {

std::optional<int> power_of(std::string_view unit) {
  if (unit.empty() || unit == "B") return 0;
  constexpr std::string_view letters = "KMGT";
  const std::size_t place = letters.find(unit.front());
  if (place == std::string_view::npos) return std::nullopt;
  const std::string_view rest = unit.substr(1);
  if (!rest.empty() && rest != "B" && rest != "iB") return std::nullopt;
  return static_cast<int>(place) + 1;
}

/// The number at the front, and what is behind it.
std::optional<double> leading_number(std::string_view text, std::string_view& rest) {
  double value = 0.0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc{} || !std::isfinite(value)) return std::nullopt;
  rest = text.substr(static_cast<std::size_t>(end.ptr - text.data()));
  return value;
}

}  // namespace

std::optional<std::int64_t> parse_size(std::string_view text) {
  std::string_view unit;
  const std::optional<double> value = leading_number(text, unit);
  const std::optional<int> power = value ? power_of(unit) : std::nullopt;
  if (!power) return std::nullopt;
  const double bytes = *value * std::pow(1024.0, *power);
  if (bytes < 0.0 || bytes > std::pow(2.0, 62)) return std::nullopt;
  return static_cast<std::int64_t>(bytes);
}

std::optional<double> parse_duration(std::string_view text) {
  std::string_view unit;
  const std::optional<double> value = leading_number(text, unit);
  if (!value || *value <= 0.0) return std::nullopt;
  if (unit.empty() || unit == "s") return value;
  if (unit == "min" || unit == "m") return *value * 60.0;
  if (unit == "h") return *value * 3600.0;
  return std::nullopt;
}

std::vector<std::int64_t> size_ladder(std::int64_t begin, std::int64_t end, int factor) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = begin; size < end; size *= factor) {
    sizes.push_back(size);
    if (size > end / factor) break;
  }
  if (sizes.empty() || sizes.back() != end) sizes.push_back(end);
  return sizes;
}

}  // namespace foretrain::harness
