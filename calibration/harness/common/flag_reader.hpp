// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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

/// "8", "8B", "64K", "64KiB", "1M", "4GiB": bytes in powers of 1024, as in nccl-tests.
/// @return nothing where it is no size, negative, or above 2^62.
[[nodiscard]] std::optional<std::int64_t> parse_size(std::string_view text);

/// "5min", "90s", "300": seconds. @return nothing where it is no duration above zero.
[[nodiscard]] std::optional<double> parse_duration(std::string_view text);

/// begin, begin * factor, ... up to end, which is always the last.
/// @pre 0 < begin <= end; factor >= 2
[[nodiscard]] std::vector<std::int64_t> size_ladder(std::int64_t begin, std::int64_t end,
                                                    int factor);

}  // namespace foretrain::harness
