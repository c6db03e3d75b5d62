// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/catalog_defaults.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "models/base/require.hpp"
#include "scenarios/catalog/catalog_machine.hpp"

namespace foretrain {
namespace {

/// Calls `use` with every file of the built-in catalog.
template <class Use>
void for_each_built_in(CatalogKind kind, Diagnostics& diagnostics, Use use) {
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{{}, {}, diagnostics, files, values};
  const auto roots = catalog_roots({}, diagnostics);
  diagnostics.throw_if_any();
  for (const CatalogFile& file : list_catalog_files(kind, roots)) use(file, context);
  diagnostics.throw_if_any();
}

}  // namespace

DefaultMachine default_machine() {
  Diagnostics diagnostics;
  std::vector<DefaultMachine> machines;
  for_each_built_in(CatalogKind::hosts, diagnostics,
                    [&](const CatalogFile& file, CatalogContext& context) {
                      const auto values = read_catalog_file(file, host_fields(), context, nullptr);
                      if (values && values->has("default") && values->boolean("default"))
                        machines.push_back({file.name, values->text("network.link")});
                    });
  if (machines.size() != 1)
    diagnostics.add(
        Diagnostic{"topologies/catalog/hosts", 0, 0, "default",
                   fmt::format("one host says default: true, and not {}", machines.size())});
  diagnostics.throw_if_any();
  return std::move(machines.front());
}

std::string slowest_fabric() {
  Diagnostics diagnostics;
  std::optional<FabricPreset> slowest;
  for_each_built_in(CatalogKind::fabrics, diagnostics,
                    [&](const CatalogFile& file, CatalogContext& context) {
                      auto preset = read_fabric(file, "", context);
                      if (preset && (!slowest || preset->link.bandwidth < slowest->link.bandwidth))
                        slowest = std::move(preset);
                    });
  FORETRAIN_REQUIRE(slowest.has_value());
  return slowest->name;
}

}  // namespace foretrain
