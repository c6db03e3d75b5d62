// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/profile_constant.hpp"

#include <limits>
#include <map>

#include "models/base/require.hpp"
#include "scenarios/catalog/catalog_profiles.hpp"

namespace foretrain {
namespace {

const RowTable& table_of(ProfileLayer layer) {
  switch (layer) {
    case ProfileLayer::device:
      return device_profile_table();
    case ProfileLayer::stack:
      return stack_table();
    case ProfileLayer::site:
      break;
  }
  return site_table();
}

/// @param profile the struct of the layer's table
std::optional<ConstantRef> constant_in(void* profile, ProfileLayer layer, std::string_view key) {
  const KeyRow* const row = table_of(layer).find(key);
  if (row == nullptr || !row->fitted) return std::nullopt;
  void* const value = row->slot.find(profile);
  return value == nullptr ? std::nullopt : std::optional{ConstantRef(value, *row->slot.ops)};
}

template <class Profile>
void* named(std::map<std::string, Profile>& profiles, const std::string& name) {
  const auto found = profiles.find(name);
  return found == profiles.end() ? nullptr : &found->second;
}

void* profile_in(const ProfileRef& profile, RunCatalog& catalog) {
  if (profile.layer == ProfileLayer::stack) return named(catalog.stacks, profile.name);
  if (profile.layer == ProfileLayer::site) return named(catalog.sites, profile.name);
  return named(catalog.device_profiles, profile.name);
}

void* profile_in(ProfileLayer layer, Job& job) {
  if (layer == ProfileLayer::stack) return &job.stack;
  if (layer == ProfileLayer::site) return &job.site;
  return &job.device_profile;
}

const Field& field_of(ProfileLayer layer, std::string_view key) {
  const Field* const field = table_of(layer).fields().find(key);
  FORETRAIN_REQUIRE(field != nullptr);
  return *field;
}

}  // namespace

std::string ProfileRef::text() const { return std::string(name_of(layer)) + "/" + name; }

std::optional<ProfileRef> profile_ref(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto layer = from_name<ProfileLayer>(text.substr(0, slash));
  if (!layer || slash + 1 == text.size()) return std::nullopt;
  return ProfileRef{*layer, std::string(text.substr(slash + 1))};
}

std::optional<ConstantRef> constant_of(const ProfileRef& profile, std::string_view key,
                                       RunCatalog& catalog) {
  void* const found = profile_in(profile, catalog);
  return found == nullptr ? std::nullopt : constant_in(found, profile.layer, key);
}

std::optional<ConstantRef> constant_of(const ProfileRef& profile, std::string_view key, Job& job) {
  FORETRAIN_REQUIRE(uses(job, profile));
  return constant_in(profile_in(profile.layer, job), profile.layer, key);
}

Dimension dimension_of(ProfileLayer layer, std::string_view key) {
  return field_of(layer, key).dimension;
}

double most_of(ProfileLayer layer, std::string_view key) {
  return field_of(layer, key).max.value_or(std::numeric_limits<double>::infinity());
}

std::vector<std::string> constant_keys(ProfileLayer layer) {
  std::vector<std::string> keys;
  for (const KeyRow& row : table_of(layer).rows())
    if (row.fitted) keys.push_back(row.field.path);
  return keys;
}

bool uses(const Job& job, const ProfileRef& profile) {
  switch (profile.layer) {
    case ProfileLayer::device:
      return job.device_profile.name == profile.name;
    case ProfileLayer::stack:
      return job.stack.name == profile.name;
    case ProfileLayer::site:
      break;
  }
  return job.site.name == profile.name;
}

}  // namespace foretrain
