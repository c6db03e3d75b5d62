// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace foretrain {

// Text of users and of other programs' files, on its way to terminals, CI logs and browsers. What
// those act on instead of showing it: C0 (U+0000 to U+001F) and DEL, C1 (U+0080 to U+009F), the
// separators of lines and paragraphs (U+2028, U+2029), and what turns the direction of writing
// (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069). U+FFFE and U+FFFF, which XML
// forbids, count too.

/// Length in bytes of the UTF-8 sequence at `at`; 0 when it is malformed, overlong, a surrogate or
/// out of range. @pre at < text.size()
[[nodiscard]] std::size_t utf8_length(std::string_view text, std::size_t at);

/// The code point at `at`. @pre utf8_length() is above 0
[[nodiscard]] char32_t code_point(std::string_view text, std::size_t at);

/// Whether a code point is one of the above.
[[nodiscard]] bool acts_on_reader(char32_t code);

/// The first of the above but those in `allowed`; absent where there is none.
[[nodiscard]] std::optional<char32_t> find_acting(std::string_view text,
                                                  std::string_view allowed = {});

/// Why a text that users read must not hold the character: a part of a sentence.
[[nodiscard]] std::string acting_refusal(char32_t code);

/// One line that can be shown: each of the above, and each byte that is no UTF-8, as \xNN; a line
/// feed as \n.
[[nodiscard]] std::string escaped(std::string_view text);

/// Text in double quotes, as YAML and JSON read it. @pre no control characters
[[nodiscard]] std::string in_double_quotes(std::string_view text);

/// Latin capitals as small letters, whatever the locale.
[[nodiscard]] std::string lower_case(std::string text);

}  // namespace foretrain
