// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/records/run_catalog.hpp"
#include "models/base/names.hpp"
#include "models/inputs/job.hpp"
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
  template <class Value>
  explicit ConstantRef(Value& value)
      : target_{&value},
        get_{[](const void* at) { return base_units(*static_cast<const Value*>(at)); }},
        set_{[](void* at, double number) { *static_cast<Value*>(at) = Value{number}; }} {}

  [[nodiscard]] double get() const { return get_(target_); }
  void set(double value) const { set_(target_, value); }

 private:
  static double base_units(double value) { return value; }
  template <class Unit>
  static double base_units(Unit value) {
    return value.value();
  }

  void* target_;
  double (*get_)(const void*);
  void (*set_)(void*, double);
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
