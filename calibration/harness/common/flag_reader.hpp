// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace foretrain::harness {

/// What a flag does with its value: one sentence where the value is wrong. A switch gets "".
using FlagAction = std::function<std::optional<std::string>(const std::string& value)>;

struct FlagTable {
  std::map<std::string, FlagAction> with_value;
  std::map<std::string, FlagAction> switches;
};

/// Reads `--flag value`, `--flag=value` and switches.
/// @return one sentence about the first thing that is wrong.
[[nodiscard]] std::optional<std::string> read_flags(const std::vector<std::string>& arguments,
                                                    const FlagTable& table);

/// A whole number within limits, or one sentence. @post `into` is set when nothing is returned.
[[nodiscard]] std::optional<std::string> read_whole(const std::string& value, long long least,
                                                    long long most, long long& into);

/// "a,b,c" in parts; empty parts are kept.
[[nodiscard]] std::vector<std::string> split_list(const std::string& text);

}  // namespace foretrain::harness
