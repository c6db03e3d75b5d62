// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "calibration/fit/profile_text.hpp"
#include "planner/evidence/internal/record_files.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/yaml/units_text.hpp"

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

/// A scalar that a fit gives, and how sure it is of its logarithm; 0: not known.
struct FitEdit {
  ProfileEdit edit;
  double deviation = 0.0;
};
using Edits = std::map<std::string, std::vector<FitEdit>>;

/// What the fits give, by profile.
Edits edits_of(const Calibration& calibration) {
  Edits edits;
  for (const auto* values : {&calibration.kernels.values, &calibration.collectives.values})
    for (const FittedValue& value : *values)
      edits[value.profile].push_back({{value.key, value.text}, value.deviation});
  for (const FittedConstant& fitted : calibration.fit.constants)
    for (const ProfileRef& profile : fitted.constant.profiles)
      for (const std::string& key : fitted.constant.keys)
        edits[profile.text()].push_back({{key, fitted.text}, fitted.deviation});
  for (const FittedBand& band : calibration.fit.bands) {
    const auto stack = edits.find(ProfileRef{ProfileLayer::stack, band.stack}.text());
    if (stack == edits.end()) continue;
    stack->second.push_back({{"provenance.error", format_number(band.error)}});
    stack->second.push_back({{"band_low", format_number(band.low)}});
    stack->second.push_back({{"band_high", format_number(band.high)}});
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

/// A scalar's value in base units, of whatever dimension.
std::optional<double> value_in(const std::string& text) {
  if (const auto number = parse_number(text); number.value) return number.value;
  for (const Dimension dimension : {Dimension::time, Dimension::bandwidth, Dimension::flop_rate})
    if (const auto quantity = parse_quantity(text, dimension); quantity.value)
      return quantity.value;
  return {};
}

/// Constants and deviations of the file that are not what the fit gives.
std::vector<ProfileMismatch> differences(const std::string& text,
                                         const std::vector<FitEdit>& edits) {
  constexpr double percentiles = 0.004;      // of bands, written in three digits
  constexpr double deviations_alike = 0.25;  // how sure a fit is, is known less well
  std::vector<ProfileMismatch> all;
  const std::map<std::string, double> stated = profile_deviations(text);
  for (const auto& [edit, deviation] : edits) {
    const std::string before = profile_scalar(text, edit.key).value_or("");
    const auto was = value_in(before);
    const double is = value_in(edit.text).value();
    const double off = was && *was > 0.0 && is > 0.0 ? std::abs(std::log(is / *was))
                                                     : std::numeric_limits<double>::infinity();
    if (deviation > 0.0 ? off > same_fit * deviation : off > percentiles)
      all.push_back({edit.key, before, edit.text, deviation > 0.0 ? off / deviation : 0.0});
    const auto known = stated.find(edit.key);
    const bool alike =
        known != stated.end() && std::abs(std::log(deviation / known->second)) <= deviations_alike;
    if (deviation > 0.0 && !alike)
      all.push_back({"deviations." + edit.key,
                     known == stated.end() ? "" : format_number(known->second),
                     fmt::format("{:.2g}", deviation), 0.0});
  }
  return all;
}

ProfileFile profile_file(const std::string& profile, const std::vector<FitEdit>& edits,
                         const CalibrateRequest& request) {
  Diagnostics diagnostics;
  const auto roots = catalog_roots(request.catalogs, diagnostics);
  diagnostics.throw_if_any();
  const auto found =
      find_catalog_file(*kind_of(profile), profile.substr(profile.find('/') + 1), roots);
  if (!found) throw UsageError("there is no profile " + profile);
  ProfileFile file{profile, found->file, found->shown, contents({found->file, found->shown}),
                   "",      {}};
  file.after = file.before;
  file.differences = differences(file.before, edits);
  if (!file.changed()) return file;
  std::vector<ProfileEdit> scalars;
  std::map<std::string, double> deviations;
  for (const auto& [edit, deviation] : edits) {
    scalars.push_back(edit);
    if (deviation > 0.0) deviations[edit.key] = deviation;
  }
  auto edited = edit_profile(file.before, scalars);
  if (edited) edited = with_deviations(*edited, deviations);
  if (!edited)
    throw UsageError(file.shown + ": a constant of the fit cannot be written into this file");
  file.after = *edited;
  return file;
}

/// The least objective of fits from several starts; the first of those that agree.
void fit_from_all_starts(const FitPlan& plan, const std::vector<StepRun>& runs,
                         const RunCatalog& catalog, int starts, Calibration& calibration) {
  constexpr double same = 1e-4;  // of the objective: schedules that change their order make steps
  for (int number = 0; number < starts; ++number) {
    ProfileFit fit = fit_profiles(plan, runs, catalog, {number});
    calibration.starts.push_back(fit.objective);
    const double best = calibration.fit.objective;
    if (number == 0 || (fit.converged && fit.objective < best * (1.0 - same)))
      calibration.fit = std::move(fit);
  }
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
  fit_from_all_starts(plan.plan, runs, catalog, request.starts, calibration);
  const std::vector<std::string>& asked = request.profiles;
  for (const auto& [profile, edits] : edits_of(calibration))
    if (asked.empty() || std::find(asked.begin(), asked.end(), profile) != asked.end())
      calibration.files.push_back(profile_file(profile, edits, request));
  return calibration;
}

}  // namespace foretrain
