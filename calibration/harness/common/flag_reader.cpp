// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/common/flag_reader.hpp"

#include <charconv>

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

}  // namespace foretrain::harness
