// SPDX-License-Identifier: Apache-2.0
#include "planner/calibrate.hpp"

#include <algorithm>

#include "calibration/profile_text.hpp"
#include "planner/format.hpp"
#include "planner/internal/record_files.hpp"
#include "planner/usage_error.hpp"
#include "scenarios/catalog_files.hpp"
#include "scenarios/units_text.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

CatalogKind kind_of(ProfileLayer layer) {
  switch (layer) {
    case ProfileLayer::device:
      return CatalogKind::device_profiles;
    case ProfileLayer::stack:
      return CatalogKind::stacks;
    case ProfileLayer::site:
      break;
  }
  return CatalogKind::sites;
}

std::vector<KernelRecord> shipped_kernels(const CalibrateRequest& request) {
  const RecordFile file = record_file("", "kernels.csv", request.catalogs);
  Diagnostics diagnostics;
  std::vector<KernelRecord> records = read_kernel_records(contents(file), file.name, diagnostics);
  diagnostics.throw_if_any();
  return records;
}

/// Profiles with a constant that steps or kernels determine, by layer and name.
std::vector<ProfileRef> fitted_profiles(const FitPlan& plan) {
  std::vector<ProfileRef> all = plan.profiles();
  for (const std::string& device : kernel_fit_devices()) {
    const ProfileRef found{ProfileLayer::device, device};
    if (std::find(all.begin(), all.end(), found) == all.end()) all.push_back(found);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<ProfileRef> asked_profiles(const FitPlan& plan, const CalibrateRequest& request) {
  const std::vector<ProfileRef> all = fitted_profiles(plan);
  if (request.profiles.empty()) return all;
  std::vector<ProfileRef> asked;
  for (const std::string& name : request.profiles) {
    const auto profile = profile_ref(name);
    if (!profile)
      throw UsageError(in_quotes(name) +
                       " is not of the form stack/NAME, site/NAME or device/NAME");
    if (std::find(all.begin(), all.end(), *profile) == all.end())
      throw UsageError(name + " has no constant that the plan fits");
    asked.push_back(*profile);
  }
  return asked;
}

std::vector<ProfileEdit> edits_of(const ProfileRef& profile, const Calibration& calibration) {
  const ProfileFit& fit = calibration.fit;
  std::vector<ProfileEdit> edits;
  for (const FittedValue& value : calibration.kernels.values)
    if (value.profile == profile.text()) edits.push_back({value.key, value.text});
  for (const FittedConstant& fitted : fit.constants) {
    const auto& of = fitted.constant.profiles;
    if (std::find(of.begin(), of.end(), profile) == of.end()) continue;
    for (const std::string& key : fitted.constant.keys) edits.push_back({key, fitted.text});
  }
  if (profile.layer != ProfileLayer::stack) return edits;
  for (const FittedBand& band : fit.bands) {
    if (band.stack != profile.name) continue;
    edits.push_back({"provenance.error", format_number(band.error)});
    edits.push_back({"band_low", format_number(band.low)});
    edits.push_back({"band_high", format_number(band.high)});
  }
  return edits;
}

ProfileFile profile_file(const ProfileRef& profile, const Calibration& calibration,
                         const CalibrateRequest& request) {
  Diagnostics diagnostics;
  const auto roots = catalog_roots(request.catalogs, diagnostics);
  diagnostics.throw_if_any();
  const auto found = find_catalog_file(kind_of(profile.layer), profile.name, roots);
  if (!found) throw UsageError("there is no profile " + profile.text());
  ProfileFile file{profile, found->file, found->shown, contents({found->file, found->shown}), ""};
  const auto edited = edit_profile(file.before, edits_of(profile, calibration));
  if (!edited)
    throw UsageError(file.shown + ": a constant of the plan cannot be written into this file");
  file.after = *edited;
  return file;
}

}  // namespace

Calibration calibrate(const CalibrateRequest& request) {
  RunCatalog catalog = load_run_catalog(request.catalogs);
  const NamedFitPlan plan = load_fit_plan(request.plan, request.catalogs, catalog);
  Calibration calibration;
  calibration.plan = plan.name;
  calibration.profiles = asked_profiles(plan.plan, request);
  calibration.kernels = fit_kernels(shipped_kernels(request), catalog);
  for (const auto& [device, profile] : calibration.kernels.profiles)
    catalog.device_profiles.at(device) = profile;
  const std::vector<StepRun> runs = step_runs(shipped_records(request.catalogs), catalog);
  calibration.fit = fit_profiles(plan.plan, runs, std::move(catalog));
  for (const ProfileRef& profile : calibration.profiles)
    calibration.files.push_back(profile_file(profile, calibration, request));
  return calibration;
}

}  // namespace foretrain
