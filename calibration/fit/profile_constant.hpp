// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/records/run_catalog.hpp"
#include "models/base/names.hpp"
#include "models/inputs/job.hpp"
#include "scenarios/fields/key_values.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {

enum class ProfileLayer { device, stack, site };
FORETRAIN_ENUM_NAMES(ProfileLayer, {ProfileLayer::device, "device"}, {ProfileLayer::stack, "stack"},
                     {ProfileLayer::site, "site"});

/// A profile by layer and name; as text "stack/megatron-core".
struct ProfileRef {
  ProfileLayer layer = ProfileLayer::stack;
  std::string name;

  [[nodiscard]] std::string text() const;
  friend auto operator<=>(const ProfileRef&, const ProfileRef&) = default;
};

/// Nothing where `text` is not of the form LAYER/NAME.
[[nodiscard]] std::optional<ProfileRef> profile_ref(std::string_view text);

/// A constant of a profile in base units, to read and to set.
class ConstantRef {
 public:
  /// @pre a value of the type of `ops`, which is a number
  ConstantRef(void* value, const ValueOps& ops) : value_{value}, ops_{&ops} {}

  [[nodiscard]] double get() const { return ops_->number(value_); }
  void set(double value) const { ops_->set_number(value_, value); }

 private:
  void* value_;
  const ValueOps* ops_;
};

/// Constants that a fit may move, by their key in the profile's file, e.g. "times.elementwise".
/// Nothing where the layer has no such key, or a device profile lacks that precision.
[[nodiscard]] std::optional<ConstantRef> constant_of(const ProfileRef& profile,
                                                     std::string_view key, RunCatalog& catalog);
/// The same constant inside a job that was made with this profile.
[[nodiscard]] std::optional<ConstantRef> constant_of(const ProfileRef& profile,
                                                     std::string_view key, Job& job);
/// Unit of a constant's values in its file. @pre constant_of() knows the key
[[nodiscard]] Dimension dimension_of(ProfileLayer layer, std::string_view key);
/// The largest value that a constant's file may hold, base units; infinite where there is none.
/// @pre constant_of() knows the key
[[nodiscard]] double most_of(ProfileLayer layer, std::string_view key);
/// Keys that a fit may move.
[[nodiscard]] std::vector<std::string> constant_keys(ProfileLayer layer);

/// Whether a job was made with the profile.
[[nodiscard]] bool uses(const Job& job, const ProfileRef& profile);

}  // namespace foretrain
