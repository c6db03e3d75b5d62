// SPDX-License-Identifier: Apache-2.0
#include "calibration/run_catalog.hpp"

#include "scenarios/catalog.hpp"
#include "scenarios/catalog_files.hpp"
#include "scenarios/catalog_machine.hpp"
#include "scenarios/catalog_profiles.hpp"

namespace foretrain {

RunCatalog load_run_catalog(const std::vector<std::filesystem::path>& extra) {
  Diagnostics diagnostics;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{extra, {}, diagnostics, files, values};
  RunCatalog catalog;
  const auto roots = catalog_roots(extra, diagnostics);
  for (const CatalogFile& file : list_catalog_files(CatalogKind::devices, roots))
    if (const auto device = read_device(file, "device", context))
      catalog.devices[file.name] = *device;
  for (const CatalogFile& file : list_catalog_files(CatalogKind::stacks, roots))
    if (const auto stack = read_stack(file, "stack", context)) catalog.stacks[file.name] = *stack;
  diagnostics.throw_if_any();
  return catalog;
}

}  // namespace foretrain
