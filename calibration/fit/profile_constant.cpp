// SPDX-License-Identifier: Apache-2.0

#include "calibration/fit/profile_constant.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>

#include "models/base/require.hpp"
#include "scenarios/catalog/catalog_profiles.hpp"

namespace foretrain {
namespace {

constexpr int scaled_up = 2;  // further GPUs are the same circumstance up to here

void insert_name(const std::string& name, std::vector<std::string>& names) {
  if (name.empty()) return;
  const auto at = std::lower_bound(names.begin(), names.end(), name);
  if (at == names.end() || *at != name) names.insert(at, name);
}

void widen(const std::optional<int>& value, std::optional<int>& least, std::optional<int>& most) {
  if (!value) return;
  least = std::min(least.value_or(*value), *value);
  most = std::max(most.value_or(*value), *value);
}

/// Both sorted.
std::vector<std::string> without(const std::vector<std::string>& all,
                                 const std::vector<std::string>& known) {
  std::vector<std::string> rest;
  std::set_difference(all.begin(), all.end(), known.begin(), known.end(), std::back_inserter(rest));
  return rest;
}

}  // namespace

FitRecord fit_record(const RecordCheck& check, const Job& job, const std::optional<int>& year) {
  return {check.id, check.source,  job.cluster.host.device.name, job.parallel.gpus(),
          year,     job.stack.name};
}

void ConstantReach::add(const FitRecord& record) {
  insert_name(record.device, devices);
  insert_name(record.stack, stacks);
  widen(record.gpus, least_gpus, most_gpus);
  widen(record.year, first_year, last_year);
}

void ConstantReach::add(const ConstantReach& other) {
  for (const std::string& device : other.devices) insert_name(device, devices);
  for (const std::string& stack : other.stacks) insert_name(stack, stacks);
  for (const auto& gpus : {other.least_gpus, other.most_gpus}) widen(gpus, least_gpus, most_gpus);
  for (const auto& year : {other.first_year, other.last_year}) widen(year, first_year, last_year);
}

ReachBeyond beyond(const ConstantReach& told, const ConstantReach& used, bool scaled) {
  ReachBeyond made;
  made.devices = without(used.devices, told.devices);
  if (!told.stacks.empty()) made.stacks = without(used.stacks, told.stacks);
  if (scaled && told.most_gpus && used.most_gpus && *used.most_gpus > scaled_up * *told.most_gpus)
    made.gpus = used.most_gpus;
  if (told.first_year && used.first_year && *used.first_year < *told.first_year)
    made.first_year = used.first_year;
  if (told.last_year && used.last_year && *used.last_year > *told.last_year)
    made.last_year = used.last_year;
  return made;
}

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
