// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/run_catalog.hpp"

#include "scenarios/catalog/catalog.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/catalog/catalog_profiles.hpp"

namespace foretrain {

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
  read_all(CatalogKind::devices, read_device, catalog.devices);
  read_all(CatalogKind::hosts, read_host, catalog.hosts);
  read_all(CatalogKind::fabrics, read_fabric, catalog.fabrics);
  read_all(CatalogKind::device_profiles, read_device_profile, catalog.device_profiles);
  read_all(CatalogKind::stacks, read_stack, catalog.stacks);
  read_all(CatalogKind::sites, read_site, catalog.sites);
  diagnostics.throw_if_any();
  return catalog;
}

}  // namespace foretrain
