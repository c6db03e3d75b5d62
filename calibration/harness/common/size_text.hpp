// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace foretrain::harness {

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
