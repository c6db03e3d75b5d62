// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/run_catalog.hpp"

#include <utility>

#include "calibration/records/internal/words.hpp"
#include "scenarios/catalog/catalog.hpp"
#include "scenarios/catalog/catalog_device.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/catalog/catalog_models.hpp"
#include "scenarios/catalog/catalog_profiles.hpp"
#include "scenarios/catalog/model_names.hpp"

namespace foretrain {
namespace {

/// What a device's file says of others is right: a family is named by a device that is in it.
void check_family(const DeviceEntry& entry, const RunCatalog& catalog, Diagnostics& diagnostics) {
  const auto check = [&](const char* path, std::string DeviceFamily::*constants,
                         std::string DeviceFamily::*own) {
    const std::string& name = entry.family.*constants;
    if (name.empty()) return;
    const auto head = catalog.families.find(name);
    if (head == catalog.families.end() || head->second.*own != name)
      diagnostics.add(entry.values.where(path), path,
                      in_quotes(name) +
                          " is no device that names itself there: one that was "
                          "measured does");
  };
  check("family.kernels", &DeviceFamily::kernels, &DeviceFamily::kernels);
  check("family.collectives", &DeviceFamily::collectives, &DeviceFamily::collectives);
  check("family.lines", &DeviceFamily::lines, &DeviceFamily::collectives);
}

/// Devices with their families, relatives and usual hosts.
void read_devices(const std::vector<CatalogFile>& files, CatalogContext& context,
                  RunCatalog& catalog) {
  std::vector<DeviceEntry> devices;
  for (const CatalogFile& file : files) {
    auto entry = read_device_entry(file, "", context);
    if (!entry) continue;
    catalog.devices[file.name] = entry->device;
    catalog.families[file.name] = entry->family;
    if (entry->relative) catalog.relatives[file.name] = entry->relative->name;
    if (!entry->host.empty()) catalog.usual_hosts[file.name] = entry->host;
    devices.push_back(std::move(*entry));
  }
  for (const DeviceEntry& entry : devices) check_family(entry, catalog, context.diagnostics);
}

}  // namespace

std::map<std::string, std::vector<std::string>> device_families(
    const RunCatalog& catalog, std::string DeviceFamily::*constants) {
  std::map<std::string, std::vector<std::string>> families;
  for (const auto& [device, family] : catalog.families)
    if (family.*constants == device) families[device] = {device};
  for (const auto& [device, family] : catalog.families)
    if (!(family.*constants).empty() && family.*constants != device)
      families[family.*constants].push_back(device);
  return families;
}

std::string chip_of(const std::string& device, const RunCatalog& catalog) {
  const auto found = catalog.families.find(device);
  return found == catalog.families.end() || found->second.kernels.empty() ? device
                                                                          : found->second.kernels;
}

RunCatalog load_run_catalog(const std::vector<std::filesystem::path>& extra) {
  Diagnostics diagnostics;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{extra, {}, diagnostics, files, values};
  const auto roots = catalog_roots(extra, diagnostics);
  const auto read_all = [&](CatalogKind kind, auto read, auto& entries) {
    for (const CatalogFile& file : list_catalog_files(kind, roots))
      if (auto entry = read(file, "", context)) entries[file.name] = std::move(*entry);
  };
  RunCatalog catalog;
  const auto devices = list_catalog_files(CatalogKind::devices, roots);
  read_devices(devices, context, catalog);
  read_all(CatalogKind::hosts, read_host, catalog.hosts);
  read_all(CatalogKind::fabrics, read_fabric, catalog.fabrics);
  read_all(CatalogKind::device_profiles, read_device_profile, catalog.device_profiles);
  for (const CatalogFile& file : devices)
    if (catalog.device_profiles.count(file.name) == 0)
      if (auto rates = read_profile_in_proportion(file, "", context))
        catalog.device_profiles[file.name] = std::move(*rates);
  read_all(CatalogKind::stacks, read_stack, catalog.stacks);
  read_all(CatalogKind::sites, read_site, catalog.sites);
  read_all(CatalogKind::engines, read_engine, catalog.engines);
  for (const CatalogFile& file : list_catalog_files(CatalogKind::models, roots))
    if (auto entry = read_model(file, "", context)) catalog.models[file.name] = entry->shape;
  diagnostics.throw_if_any();
  return catalog;
}

std::string device_of_record(const std::string& gpu, const RunCatalog& catalog) {
  std::string name = lower(gpu);
  if (catalog.devices.count(name) > 0) return name;
  const std::string product = device_called(gpu, DeviceNaming::product);
  return product.empty() && gpu.find(" (") == std::string::npos
             ? device_called(gpu, DeviceNaming::table)
             : product;
}

}  // namespace foretrain
