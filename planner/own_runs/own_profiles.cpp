// SPDX-License-Identifier: Apache-2.0
#include "planner/own_runs/internal/own_profiles.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/fit/profile_text.hpp"
#include "models/base/contains.hpp"
#include "models/base/require.hpp"
#include "planner/constants/internal/profile_values.hpp"
#include "planner/text/internal/yaml_text.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

std::string source_text(const OwnRunsRequest& request, const ProfileRef& profile, int runs) {
  std::string files;
  for (const std::filesystem::path& file : request.files)
    files += (files.empty() ? "" : ", ") + file.filename().string();
  return fmt::format("{} {} of one's own ({}), around the shipped {}; what is not stated is its",
                     runs, runs == 1 ? "run" : "runs", files, profile.text());
}

/// Runs of the fit that were made with the profile.
int runs_with(const ProfileRef& profile, const OwnRunsFit& fit) {
  return static_cast<int>(std::ranges::count_if(
      fit.runs, [&](const OwnRunLine& line) { return contains(line.profiles, profile.text()); }));
}

std::string profile_text(const OwnRunsRequest& request, const ProfileRef& profile,
                         const OwnFileFacts& facts, double error, const OwnRunsFit& fit) {
  YamlText text;
  text.put("schema", "1");
  text.put("name", profile.name);
  if (profile.layer != ProfileLayer::device) {
    const FieldValues base =
        profile_values(profile_kind(profile.layer), profile.name, request.catalogs);
    text.put("title", YamlText::quoted(base.text("title")));
  }
  text.put("like", profile.name);
  text.put("provenance.trust", "measured");
  text.put("provenance.source",
           YamlText::quoted(source_text(request, profile, runs_with(profile, fit))));
  text.put("provenance.date", request.today);
  text.put("provenance.error", fmt::format("{:.4f}", std::min(1.0, error)));
  if (profile.layer == ProfileLayer::stack) {
    text.put("band_low", fmt::format("{:.3f}", facts.band_low));
    text.put("band_high", fmt::format("{:.3f}", facts.band_high));
  }
  std::map<std::string, double> deviations;
  for (const OwnConstantLine& line : fit.constants) {
    if (!line.moved || line.profile != profile.text()) continue;
    for (const std::string& key : line.keys) {
      text.put(key, line.after);
      deviations[key] = line.deviation;
    }
  }
  const auto whole = with_deviations(text.text(), deviations);
  FORETRAIN_REQUIRE(whole.has_value());
  return *whole;
}

}  // namespace

CatalogKind profile_kind(ProfileLayer layer) {
  if (layer == ProfileLayer::device) return CatalogKind::device_profiles;
  return layer == ProfileLayer::stack ? CatalogKind::stacks : CatalogKind::sites;
}

std::vector<OwnProfileFile> own_profile_files(const OwnRunsRequest& request,
                                              const std::map<ProfileRef, OwnFileFacts>& facts,
                                              double error, const OwnRunsFit& fit) {
  std::vector<OwnProfileFile> files;
  for (const auto& [profile, fact] : facts)
    files.push_back({profile.text() + ".yaml", profile_text(request, profile, fact, error, fit)});
  return files;
}

}  // namespace foretrain
