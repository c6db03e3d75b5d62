// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace foretrain {

/// A scenario's text after a change, or why it could not be changed.
struct TextEdit {
  std::optional<std::string> text;
  std::string problem;  ///< one sentence; empty exactly when there is a text
};

/// Gives one key of a scenario another value. Everything else stays as it was written: comments,
/// order, blank lines, quotes. A key that is not there is put behind the keys that come before it
/// in the reference, groups that it needs are made. The result is read again and refused when
/// anything but this key has changed, so that no text is ever damaged.
/// @param path dotted, e.g. "parallel.tensor"; elements of lists cannot be addressed
/// @param value YAML on one line, e.g. "4", "2 T", "[8, 8, 4]"
[[nodiscard]] TextEdit set_value(const std::string& text, const std::string& path,
                                 const std::string& value);

/// Takes a key away, and groups that are empty then. A key that is not there is no problem.
[[nodiscard]] TextEdit remove_value(const std::string& text, const std::string& path);

/// set_value() for each of "parallel.tensor=4", in order; all of them or none.
[[nodiscard]] TextEdit apply_settings(const std::string& text,
                                      const std::vector<std::string>& settings);

/// A text as one YAML scalar: as it is where that reads back the same, else in double quotes.
[[nodiscard]] std::string yaml_scalar(const std::string& text);

}  // namespace foretrain
