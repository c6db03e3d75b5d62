// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

/// Whole numbers in short: FIRST..LAST, FIRST..LAST+STEP (or :STEP), FIRST..LAST*FACTOR.
struct NumberRange {
  enum class Way { plain, adds, multiplies };

  std::int64_t first = 0;
  std::int64_t last = 0;
  Way way = Way::plain;  ///< plain means what its command says: doubling, or counting by one
  std::int64_t by = 1;   ///< step or factor
};

/// A decimal whole number and nothing else.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text);

/// Nothing for any other text.
[[nodiscard]] std::optional<NumberRange> number_range(std::string_view text);

/// Its numbers, upwards from the first; a plain range counts by one.
/// @throws UsageError, prefixed by `where`, for a range that is empty, does not advance, or has
/// more than `most` numbers
[[nodiscard]] std::vector<std::int64_t> numbers_of(const NumberRange& range,
                                                   const std::string& where, std::size_t most);

}  // namespace foretrain
