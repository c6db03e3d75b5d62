// SPDX-License-Identifier: Apache-2.0
#include "planner/constants/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "calibration/fit/constant_list.hpp"
#include "calibration/fit/profile_text.hpp"
#include "models/base/ranges.hpp"
#include "planner/evidence/internal/record_files.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/catalog/catalog_read.hpp"
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

/// Constants and deviations of the profile that are not what the fit gives.
std::vector<ProfileMismatch> differences(const SaidValues& said,
                                         const std::vector<FitEdit>& edits) {
  constexpr double percentiles = 0.004;      // of bands, written in three digits
  constexpr double deviations_alike = 0.25;  // how sure a fit is, is known less well
  std::vector<ProfileMismatch> all;
  for (const auto& [edit, deviation] : edits) {
    const auto found = said.find(edit.key);
    const SaidValue before = found == said.end() ? SaidValue{} : found->second;
    const auto was = value_in(before.text);
    const double is = value_in(edit.text).value();
    const double off = was && *was > 0.0 && is > 0.0 ? std::abs(std::log(is / *was))
                                                     : std::numeric_limits<double>::infinity();
    if (deviation > 0.0 ? off > same_fit * deviation : off > percentiles)
      all.push_back({edit.key, before.text, edit.text, deviation > 0.0 ? off / deviation : 0.0});
    const bool alike = before.deviation > 0.0 &&
                       std::abs(std::log(deviation / before.deviation)) <= deviations_alike;
    if (deviation > 0.0 && !alike)
      all.push_back({"deviations." + edit.key,
                     before.deviation > 0.0 ? format_number(before.deviation) : "",
                     fmt::format("{:.2g}", deviation), 0.0});
  }
  return all;
}

/// What a file has to say itself after a fit: what it says already, and where all that is said, by
/// it and its relatives, is something else.
std::vector<FitEdit> to_be_said(const SaidValues& own, const SaidValues& all,
                                const std::vector<FitEdit>& edits) {
  std::vector<FitEdit> said;
  for (const FitEdit& edit : edits)
    if (own.count(edit.edit.key) != 0 || !differences(all, {edit}).empty()) said.push_back(edit);
  return said;
}

/// Files of profiles before and after a fit; a profile that is like another one has what that one
/// says after the fit.
class ProfileFiles {
 public:
  ProfileFiles(Edits edits, const CalibrateRequest& request) : edits_{std::move(edits)} {
    Diagnostics diagnostics;
    roots_ = catalog_roots(request.catalogs, diagnostics);
    diagnostics.throw_if_any();
    for (const auto& [profile, unused] : edits_) {
      const auto& asked = request.profiles;
      if (!asked.empty() && !contains(asked, profile)) continue;
      const auto found =
          find_catalog_file(*kind_of(profile), profile.substr(profile.find('/') + 1), roots_);
      if (!found) throw UsageError("there is no profile " + profile);
      asked_.emplace(profile, *found);
    }
  }

  std::vector<ProfileFile> all() {
    std::vector<ProfileFile> files;
    for (const auto& [profile, file] : asked_) files.push_back(of(profile, file));
    return files;
  }

 private:
  using Chain = std::vector<CatalogFile>;  ///< files, each like the next one

  ProfileFile of(const std::string& profile, const CatalogFile& found, Chain chain = {}) {
    if (const auto known = made_.find(profile); known != made_.end()) return known->second;
    chain.push_back(found);
    const std::string text = contents({found.file, found.shown});
    ProfileFile file{profile, found.file, found.shown, text, text, {}};
    const FieldTable& table = catalog_fields(found.kind);
    const std::vector<FitEdit>& edits = edits_.at(profile);
    const auto relative = relative_of(text, chain);
    const SaidValues before = relative ? said(*relative, chain, false) : SaidValues{};
    file.differences = differences(said_values(text, table, before), edits);
    const SaidValues after = relative ? said(*relative, chain, true) : SaidValues{};
    const SaidValues then = said_values(text, table, after);
    if (!differences(then, edits).empty()) {
      auto edited = with_fitted(text, to_be_said(said_values(text, table, {}), then, edits));
      if (!edited)
        throw UsageError(file.shown + ": a constant of the fit cannot be written into this file");
      file.after = std::move(*edited);
    }
    made_.emplace(profile, file);
    return file;
  }

  /// What a profile's file and its relatives say, with what the fit gives or without.
  SaidValues said(const CatalogFile& found, Chain chain, bool after) {
    std::string text;
    for (const auto& [profile, file] : asked_)
      if (after && file.file == found.file) text = of(profile, file, chain).after;
    chain.push_back(found);
    if (text.empty()) text = contents({found.file, found.shown});
    const auto relative = relative_of(text, chain);
    return said_values(text, catalog_fields(found.kind),
                       relative ? said(*relative, chain, after) : SaidValues{});
  }

  [[nodiscard]] std::optional<CatalogFile> relative_of(const std::string& text,
                                                       const Chain& chain) const {
    const auto name = profile_scalar(text, std::string(like_key));
    if (!name) return std::nullopt;
    return find_catalog_file(chain.back().kind, *name, roots_, chain);
  }

  Edits edits_;
  std::vector<std::filesystem::path> roots_;
  std::map<std::string, CatalogFile> asked_;
  std::map<std::string, ProfileFile> made_;
};

/// The plan's file with the objective that was reached. A plan that states none is left alone.
ProfileFile with_minimum(const NamedFitPlan& plan, double objective) {
  constexpr double same = 1e-6;
  ProfileFile file{"fit plan", plan.path, plan.name, plan.text, plan.text, {}};
  const std::optional<double>& before = plan.plan.minimum;
  if (!before || std::abs(objective / *before - 1.0) <= same) return file;
  const std::string after = fmt::format("{:.9g}", objective);
  file.differences.push_back({"minimum", fmt::format("{:.9g}", *before), after, 0.0});
  file.after = edit_profile(plan.text, {{"minimum", after}}).value();
  return file;
}

/// What determined every constant of the shipped plan.
ProfileFile with_evidence(const Calibration& calibration, const CalibrateRequest& request) {
  const RecordFile record = record_file("", constants_name, request.catalogs, "fits");
  const std::string before = contents(record);
  ProfileFile file{"constants", record.path, record.name, before, before, {}};
  Diagnostics diagnostics;
  const auto was = read_constants_csv(before, record.name, diagnostics);
  const auto is = constant_lines(calibration.kernels, calibration.collectives, calibration.fit);
  if (diagnostics.empty() && same_constants(was, is)) return file;
  file.differences.push_back({"constants", std::to_string(was.size()) + " lines",
                              std::to_string(is.size()) + " lines", 0.0});
  file.after = constants_csv(is);
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
  return std::ranges::any_of(files, [&](const ProfileFile& file) { return file.name == profile; });
}

Calibration calibrate(const CalibrateRequest& request) {
  RunCatalog catalog = load_run_catalog(request.catalogs);
  const NamedFitPlan plan = load_fit_plan(request.plan, request.catalogs, catalog);
  Calibration calibration;
  calibration.plan = plan.name;
  std::vector<KernelRecord> kernels;
  for (const char* const table : kernel_tables)
    for (KernelRecord& record : shipped(table, request, read_kernel_records))
      kernels.push_back(std::move(record));
  calibration.kernels = fit_kernels(kernels, catalog);
  for (const auto& [device, profile] : calibration.kernels.profiles)
    catalog.device_profiles.at(device) = profile;
  calibration.collectives =
      fit_collectives(shipped("nccl_sweeps.csv", request, read_sweep_records), catalog);
  catalog = with_collectives(std::move(catalog), calibration.collectives.values);
  require_fitted(request.profiles, plan.plan, calibration);
  const std::vector<StepRun> runs = step_runs(shipped_records(request.catalogs), catalog);
  fit_from_all_starts(plan.plan, runs, catalog, request.starts, calibration);
  calibration.files = ProfileFiles(edits_of(calibration), request).all();
  calibration.plan_file = with_minimum(plan, calibration.fit.objective);
  if (request.plan.empty()) calibration.constants_file = with_evidence(calibration, request);
  return calibration;
}

}  // namespace foretrain
