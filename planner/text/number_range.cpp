// SPDX-License-Identifier: Apache-2.0
#include "planner/text/number_range.hpp"

#include <fmt/format.h>

#include <charconv>

#include "planner/text/usage_error.hpp"

namespace foretrain {
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

}  // namespace foretrain
