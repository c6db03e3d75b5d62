// SPDX-License-Identifier: Apache-2.0
#include "planner/calibrate.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "calibration/profile_text.hpp"
#include "planner/format.hpp"
#include "planner/internal/record_files.hpp"
#include "planner/usage_error.hpp"
#include "scenarios/catalog_files.hpp"
#include "scenarios/units_text.hpp"

namespace foretrain {
namespace {

/// Folders of what a fit writes, by the word before the slash.
std::optional<CatalogKind> kind_of(const std::string& profile) {
  static const std::map<std::string, CatalogKind> kinds{{"device", CatalogKind::device_profiles},
                                                        {"stack", CatalogKind::stacks},
                                                        {"site", CatalogKind::sites},
                                                        {"fabric", CatalogKind::fabrics}};
  const auto slash = profile.find('/');
  const auto found = kinds.find(profile.substr(0, slash));
  if (slash == std::string::npos || found == kinds.end()) return {};
  return found->second;
}

template <class Read>
auto shipped(const std::string& name, const CalibrateRequest& request, Read read) {
  const RecordFile file = record_file("", name, request.catalogs);
  Diagnostics diagnostics;
  auto records = read(contents(file), file.name, diagnostics);
  diagnostics.throw_if_any();
  return records;
}

using Edits = std::map<std::string, std::vector<ProfileEdit>>;

/// What the fits give, by profile.
Edits edits_of(const Calibration& calibration) {
  Edits edits;
  for (const auto* values : {&calibration.kernels.values, &calibration.collectives.values})
    for (const FittedValue& value : *values)
      edits[value.profile].push_back({value.key, value.text});
  for (const FittedConstant& fitted : calibration.fit.constants)
    for (const ProfileRef& profile : fitted.constant.profiles)
      for (const std::string& key : fitted.constant.keys)
        edits[profile.text()].push_back({key, fitted.text});
  for (const FittedBand& band : calibration.fit.bands) {
    const auto stack = edits.find(ProfileRef{ProfileLayer::stack, band.stack}.text());
    if (stack == edits.end()) continue;
    stack->second.push_back({"provenance.error", format_number(band.error)});
    stack->second.push_back({"band_low", format_number(band.low)});
    stack->second.push_back({"band_high", format_number(band.high)});
  }
  return edits;
}

/// @throws UsageError when a profile that was asked for has no constant of the plan, of kernels or
/// of collectives
void require_fitted(const std::vector<std::string>& asked, const FitPlan& plan,
                    const Calibration& calibration) {
  std::set<std::string> fitted;
  for (const ProfileRef& profile : plan.profiles()) fitted.insert(profile.text());
  for (const auto* values : {&calibration.kernels.values, &calibration.collectives.values})
    for (const FittedValue& value : *values) fitted.insert(value.profile);
  for (const std::string& name : asked) {
    if (!kind_of(name))
      throw UsageError(in_quotes(name) +
                       " is not of the form stack/NAME, site/NAME, device/NAME or fabric/NAME");
    if (fitted.count(name) == 0) throw UsageError(name + " has no constant that is fitted");
  }
}

ProfileFile profile_file(const std::string& profile, const std::vector<ProfileEdit>& edits,
                         const CalibrateRequest& request) {
  Diagnostics diagnostics;
  const auto roots = catalog_roots(request.catalogs, diagnostics);
  diagnostics.throw_if_any();
  const auto found =
      find_catalog_file(*kind_of(profile), profile.substr(profile.find('/') + 1), roots);
  if (!found) throw UsageError("there is no profile " + profile);
  ProfileFile file{profile, found->file, found->shown, contents({found->file, found->shown}), ""};
  const auto edited = edit_profile(file.before, edits);
  if (!edited)
    throw UsageError(file.shown + ": a constant of the fit cannot be written into this file");
  file.after = *edited;
  return file;
}

}  // namespace

bool Calibration::asked(const std::string& profile) const {
  return std::any_of(files.begin(), files.end(),
                     [&](const ProfileFile& file) { return file.name == profile; });
}

Calibration calibrate(const CalibrateRequest& request) {
  RunCatalog catalog = load_run_catalog(request.catalogs);
  const NamedFitPlan plan = load_fit_plan(request.plan, request.catalogs, catalog);
  Calibration calibration;
  calibration.plan = plan.name;
  calibration.kernels = fit_kernels(shipped("kernels.csv", request, read_kernel_records), catalog);
  for (const auto& [device, profile] : calibration.kernels.profiles)
    catalog.device_profiles.at(device) = profile;
  calibration.collectives =
      fit_collectives(shipped("nccl_sweeps.csv", request, read_sweep_records), catalog);
  catalog = with_collectives(std::move(catalog), calibration.collectives.values);
  require_fitted(request.profiles, plan.plan, calibration);
  const std::vector<StepRun> runs = step_runs(shipped_records(request.catalogs), catalog);
  calibration.fit = fit_profiles(plan.plan, runs, std::move(catalog));
  const std::vector<std::string>& asked = request.profiles;
  for (const auto& [profile, edits] : edits_of(calibration))
    if (asked.empty() || std::find(asked.begin(), asked.end(), profile) != asked.end())
      calibration.files.push_back(profile_file(profile, edits, request));
  return calibration;
}

}  // namespace foretrain
