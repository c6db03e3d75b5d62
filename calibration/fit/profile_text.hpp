// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/fields/field_table.hpp"

namespace foretrain {

/// A scalar of a profile's file to replace.
struct ProfileEdit {
  std::string key;   ///< dotted, e.g. "times.head" or "across.share"
  std::string text;  ///< the new scalar as written
};

/// The file with these scalars replaced, everything else (comments, order, blanks) kept. A key that
/// is not there is added at the end of its map, a map that is not there at the end of the one
/// around it, before `deviations`. Scalars whose meaning stays keep their spelling: "0.8 ms" is not
/// rewritten as "800 us". Nothing where the text cannot be read, or a key's place is taken by
/// something else.
[[nodiscard]] std::optional<std::string> edit_profile(const std::string& text,
                                                      const std::vector<ProfileEdit>& edits);

/// A scalar of the file as it is written; nothing where there is none under that key.
[[nodiscard]] std::optional<std::string> profile_scalar(const std::string& text,
                                                        const std::string& key);

/// What the file says under `deviations`, by key; empty where it says nothing.
[[nodiscard]] std::map<std::string, double> profile_deviations(const std::string& text);

/// The file with these deviations at its end, in place of those that it has; none: without.
/// Nothing where the text cannot be read, or `deviations` is followed by something else.
[[nodiscard]] std::optional<std::string> with_deviations(
    const std::string& text, const std::map<std::string, double>& deviations);

/// What a profile says of a constant.
struct SaidValue {
  std::string text;        ///< the scalar as written
  double deviation = 0.0;  ///< of its logarithm; 0: not stated
};
using SaidValues = std::map<std::string, SaidValue>;  ///< by dotted key

/// Scalars of a profile's file, over those of its relative (`like`) but keys that `table` calls
/// own. A value that the file says has the deviation that the file says, or none.
[[nodiscard]] SaidValues said_values(const std::string& text, const FieldTable& table,
                                     const SaidValues& relative);

/// A scalar that a fit gives, and how sure it is of its logarithm; 0: not known.
struct FitEdit {
  ProfileEdit edit;
  double deviation = 0.0;
};

/// The file with what a fit gives, deviations included. Nothing as for edit_profile() and
/// with_deviations().
[[nodiscard]] std::optional<std::string> with_fitted(const std::string& text,
                                                     const std::vector<FitEdit>& edits);

}  // namespace foretrain
