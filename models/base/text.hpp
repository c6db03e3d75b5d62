// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

// Texts of files and command lines.

/// Lines without their ends, "\n" or "\r\n"; none behind a last end.
[[nodiscard]] std::vector<std::string_view> text_lines(std::string_view text);
/// Words between blanks and tabs.
[[nodiscard]] std::vector<std::string_view> blank_words(std::string_view text);
/// The parts between marks; as many as marks and one, some of them empty.
[[nodiscard]] std::vector<std::string> split_at(std::string_view text, char mark);
/// Without blanks and tabs at either end.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// A whole decimal number of at most nine digits; nothing for anything else.
[[nodiscard]] std::optional<int> count_in(std::string_view text);

/// "1 host", "2 hosts".
[[nodiscard]] std::string counted(std::size_t count, std::string_view what);

}  // namespace foretrain
