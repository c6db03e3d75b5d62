// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace foretrain {

/// A scalar of a profile's file to replace.
struct ProfileEdit {
  std::string key;   ///< dotted, e.g. "times.head" or "across.share"
  std::string text;  ///< the new scalar as written
};

/// The file with these scalars replaced, everything else (comments, order, blanks) kept. A key
/// whose map is written over lines but that is not in it is added as the map's last line.
/// Scalars whose meaning stays keep their spelling: "0.8 ms" is not rewritten as "800 us".
/// Nothing where the text cannot be read, or a key has no map to stand in.
[[nodiscard]] std::optional<std::string> edit_profile(const std::string& text,
                                                      const std::vector<ProfileEdit>& edits);

/// A scalar of the file as it is written; nothing where there is none under that key.
[[nodiscard]] std::optional<std::string> profile_scalar(const std::string& text,
                                                        const std::string& key);

/// What the file says under `deviations`, by key; empty where it says nothing.
[[nodiscard]] std::map<std::string, double> profile_deviations(const std::string& text);

/// The file with these deviations at its end, in place of those that it has.
/// Nothing where the text cannot be read, or `deviations` is followed by something else.
[[nodiscard]] std::optional<std::string> with_deviations(
    const std::string& text, const std::map<std::string, double>& deviations);

}  // namespace foretrain
