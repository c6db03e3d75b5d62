// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/fields/field_reader.hpp"

namespace foretrain {

/// Of a file's SHA-256, in a profile's list of files.
inline constexpr std::size_t sha_digits = 16;

/// The values of a catalog entry's file. @throws UsageError, ScenarioError with places
[[nodiscard]] FieldValues profile_values(CatalogKind kind, const std::string& name,
                                         const std::vector<std::filesystem::path>& catalogs);

/// A profile by "device/NAME", "stack/NAME", "site/NAME", "fabric/NAME", or by the path of a file.
struct NamedProfile {
  CatalogKind kind = CatalogKind::device_profiles;
  CatalogFile file;
  FieldValues values;
};
/// @throws UsageError, ScenarioError with places
[[nodiscard]] NamedProfile named_profile(const std::string& name,
                                         const std::vector<std::filesystem::path>& catalogs);

/// Keys that say what a file is and where it comes from, not what is true of a machine.
[[nodiscard]] bool is_profile_bookkeeping(std::string_view path);

}  // namespace foretrain
