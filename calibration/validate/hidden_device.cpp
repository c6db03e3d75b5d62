// SPDX-License-Identifier: Apache-2.0
#include "calibration/validate/hidden_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "calibration/cases/collective_case.hpp"
#include "calibration/cases/kernel_case.hpp"
#include "calibration/cases/step_case.hpp"
#include "calibration/fit/collective_fit.hpp"
#include "calibration/fit/kernel_fit.hpp"
#include "calibration/fit/profile_fit.hpp"
#include "calibration/validate/validations.hpp"
#include "models/base/require.hpp"
#include "scenarios/catalog/catalog_device.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

using DeviceNames = std::set<std::string>;

DeviceFamily family_of(const std::string& device, const RunCatalog& catalog) {
  const auto found = catalog.families.find(device);
  return found == catalog.families.end() ? DeviceFamily{} : found->second;
}

bool same_chip(const std::string& a, const std::string& b, const RunCatalog& catalog) {
  return chip_of(a, catalog) == chip_of(b, catalog);
}

/// What shares constants with a device: its families, then whatever is like one of them.
DeviceNames hidden_devices(const std::string& device, const std::string& relative,
                           const RunCatalog& catalog) {
  DeviceNames hidden{device};
  if (!same_chip(device, relative, catalog)) {
    const DeviceFamily own = family_of(device, catalog);
    for (const auto& [name, family] : catalog.families) {
      const bool chip = !own.kernels.empty() && family.kernels == own.kernels;
      const bool links = !own.collectives.empty() && family.collectives == own.collectives;
      if (chip || links) hidden.insert(name);
    }
  }
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [name, like] : catalog.relatives)
      if (hidden.count(like) > 0) grew = hidden.insert(name).second || grew;
  }
  hidden.erase(relative);
  return hidden;
}

/// Records whose device is hidden apart from the others.
template <class Record>
struct Divided {
  std::vector<Record> of_device;
  std::vector<Record> others;
};

template <class Record, class DeviceOf>
Divided<Record> divided(const std::vector<Record>& records, const std::string& device,
                        const DeviceNames& hidden, const DeviceOf& device_of) {
  Divided<Record> result;
  for (const Record& record : records) {
    const std::string name = device_of(record);
    if (name == device) result.of_device.push_back(record);
    if (hidden.count(name) == 0) result.others.push_back(record);
  }
  return result;
}

/// Constants of everything but the hidden devices, fitted without their records.
RunCatalog fitted_without(const DeviceNames& hidden, const FitPlan& plan,
                          const MeasuredRecords& others, RunCatalog catalog) {
  for (const std::string& device : hidden) catalog.families[device] = {};
  for (auto& [device, profile] : fit_kernels(others.kernels, catalog).profiles)
    catalog.device_profiles.at(device) = std::move(profile);
  const CollectiveFit collectives = fit_collectives(others.sweeps, catalog);
  catalog = with_collectives(std::move(catalog), collectives.values);
  std::vector<ProfileRef> out;
  for (const std::string& device : hidden) out.push_back({ProfileLayer::device, device});
  const ProfileFit fit =
      fit_profiles(without_profiles(plan, out), step_runs(others.runs, catalog), catalog);
  return with_fit(std::move(catalog), fit);
}

std::string device_of_run(const RunRecord& record, const RunCatalog& catalog) {
  const StepRun run = step_run(record, catalog);
  return run.job ? run.job->cluster.host.device.name : "";
}

}  // namespace

std::string hiding_fault(const std::string& device, const std::string& relative,
                         const RunCatalog& catalog) {
  for (const std::string& name : {device, relative})
    if (catalog.device_profiles.count(name) == 0 || catalog.devices.count(name) == 0)
      return "there is no device " + in_quotes(name) + " with a profile";
  if (device == relative) return in_quotes(device) + " is the device itself";
  for (auto at = catalog.relatives.find(relative); at != catalog.relatives.end();
       at = catalog.relatives.find(at->second))
    if (at->second == device && !same_chip(device, relative, catalog))
      return fmt::format("{} has its constants from {}", in_quotes(relative), in_quotes(device));
  const DeviceFamily family = family_of(relative, catalog);
  if (family.kernels == device || family.collectives == device)
    return fmt::format("{} shares constants that are called after {}", in_quotes(relative),
                       in_quotes(device));
  return "";
}

HiddenDevice hide_device(const std::string& device, const std::string& relative,
                         const FitPlan& plan, const MeasuredRecords& records,
                         const RunCatalog& catalog) {
  FORETRAIN_REQUIRE(hiding_fault(device, relative, catalog).empty());
  const DeviceNames hidden = hidden_devices(device, relative, catalog);
  auto kernels = divided(records.kernels, device, hidden, [](const KernelRecord& record) {
    const MappedKernel mapped = map_kernel(record);
    return mapped.kernel ? mapped.kernel->device : "";
  });
  auto sweeps = divided(records.sweeps, device, hidden, [&](const SweepRecord& record) {
    const MappedCollective mapped = map_collective(record, catalog);
    return mapped.collective ? mapped.collective->cluster.host.device.name : "";
  });
  auto runs = divided(records.runs, device, hidden,
                      [&](const RunRecord& record) { return device_of_run(record, catalog); });
  RunCatalog known = fitted_without(
      hidden, plan, {std::move(kernels.others), std::move(sweeps.others), std::move(runs.others)},
      catalog);
  known.device_profiles.at(device) = profile_in_proportion(
      known.device_profiles.at(relative), known.devices.at(relative), known.devices.at(device));
  HiddenDevice result{device, relative, {}, {}};
  for (const std::string& name : hidden)
    if (name != device) result.hidden_with.push_back(name);
  for (auto checks :
       {check_kernels(kernels.of_device, known), check_collectives(sweeps.of_device, known),
        check_run_steps(runs.of_device, known)})
    std::move(checks.begin(), checks.end(), std::back_inserter(result.checks));
  return result;
}

}  // namespace foretrain
