// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

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

/// A place in a user's text. Cheap to copy: the file name is shared.
struct Mark {
  std::shared_ptr<const std::string> file;  ///< as the user named it; may be null for "nowhere"
  int line = 0;                             ///< from 1; 0: no place
  int column = 0;                           ///< from 1

  /// `file:line`, the form that resolved values are attributed with.
  [[nodiscard]] std::string origin() const;
};

/// One thing wrong in a user's file or flag.
struct Diagnostic {
  std::string file;     ///< as the user named it; "--set" for overrides
  int line = 0;         ///< from 1; 0: no place
  int column = 0;       ///< from 1
  std::string path;     ///< dotted key path; empty for the whole file
  std::string message;  ///< what is wrong and what would be right

  /// `file:line:col: key.path: message`
  [[nodiscard]] std::string text() const;
};

/// All errors of a scenario at once. what() holds one line each.
class ScenarioError : public std::runtime_error {
 public:
  explicit ScenarioError(std::vector<Diagnostic> diagnostics);
  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// Collects every error of one load. Keeps the first `capacity` and then says that there are more:
/// a hostile file must not turn into a gigabyte of messages.
class Diagnostics {
 public:
  static constexpr std::size_t capacity = 200;

  void add(const Mark& mark, std::string_view path, std::string message);
  void add(Diagnostic diagnostic);

  [[nodiscard]] bool empty() const { return items_.empty(); }
  /// Number of errors so far, including those that were not kept.
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] const std::vector<Diagnostic>& items() const { return items_; }

  /// Errors by file (in order of first appearance), then by place; identical ones once.
  [[nodiscard]] std::vector<Diagnostic> sorted() const;
  /// @throws ScenarioError with sorted(), if there is any error.
  void throw_if_any() const;

 private:
  std::vector<Diagnostic> items_;
  std::size_t count_ = 0;
};

/// User text for use inside a message: in single quotes, control characters and invalid bytes
/// escaped, long text cut in the middle of nowhere with "...".
[[nodiscard]] std::string in_quotes(std::string_view text);

/// A user's key for use inside a key path: as it is when it is a plain name, else in_quotes().
[[nodiscard]] std::string printable_key(std::string_view key);

/// The same for a dotted path from a flag.
[[nodiscard]] std::string printable_path(std::string_view path);

/// "a, b, c" for lists of legal values.
[[nodiscard]] std::string joined(const std::vector<std::string>& names);
/// The same, or "none".
[[nodiscard]] std::string joined_or_none(const std::vector<std::string>& names);

}  // namespace foretrain
