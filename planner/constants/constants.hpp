// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/fit/constant_list.hpp"
#include "planner/answer/answer.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/fields/field_reader.hpp"

namespace foretrain {

/// A constant of a profile: what it is worth, and why.
struct ConstantEntry {
  std::string profile;  ///< "stack/megatron-core"
  std::string key;
  std::string value;                     ///< as the file, or its relative, writes it
  double deviation = 0.0;                ///< of its logarithm; 0: not known
  std::vector<std::string> shared = {};  ///< further profiles or keys with the same number
  /// Nothing: set by hand, from the source that the profile names.
  std::optional<ConstantLine> fitted = {};
  ConstantReach used = {};  ///< of the shipped runs, fitted or not, that use these profiles

  /// Share of what is known of it that records say, 0 to 1: what they narrow of the prior.
  [[nodiscard]] double told() const;
  /// What it is used for beyond the records that told it; nothing where none did.
  [[nodiscard]] ReachBeyond farther() const;
};

/// What the key of a constant stands for, from the format of the profile's file.
struct ConstantMeaning {
  std::string key;
  std::string unit;  ///< "time", "FLOP/s"; empty: a number
  std::string text;
};

struct ConstantLayer {
  std::string name;                       ///< "device", "stack", "site", "fabric"
  std::vector<ConstantMeaning> meanings;  ///< in the order of the format
  std::vector<ConstantEntry> entries;     ///< by profile, in the order of the format
};

struct ConstantTable {
  std::vector<ConstantLayer> layers;
};

/// Which layers are asked for; empty: all.
struct ConstantRequest {
  std::vector<std::filesystem::path> catalogs = {};
  std::vector<std::string> layers = {};
};

/// Every constant that a fit moves or somebody set, from the profiles and
/// calibration/fits/constants.csv; what is said of memory is not among them.
/// @throws UsageError, ScenarioError with places
[[nodiscard]] ConstantTable constant_table(const ConstantRequest& request);

/// By layer what its keys mean, then its profiles; a narrow terminal shows the first columns.
[[nodiscard]] Answer constants_answer(const ConstantTable& table);
[[nodiscard]] std::string constants_table_csv(const ConstantTable& table);
/// {"free", "layers": [{"layer", "meanings": [...], "constants": [...]}]}
[[nodiscard]] std::string constants_json(const ConstantTable& table);

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
