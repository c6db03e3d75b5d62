// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/catalog_entry.hpp"

#include <catch2/catch.hpp>

#include "scenarios/catalog/catalog_machine.hpp"

namespace foretrain {

TEST_CASE("one host of the catalog is the one of commands that are told none, with its own fabric",
          "[scenarios][catalog]") {
  const DefaultMachine machine = default_machine();
  CHECK(machine.host == "dgx-h100");
  CHECK(machine.fabric == "ib-ndr");
}

TEST_CASE("NICs of every host run the slowest fabric", "[scenarios][catalog]") {
  Diagnostics diagnostics;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{{}, {}, diagnostics, files, values};
  const auto roots = catalog_roots({}, diagnostics);
  const auto file = find_catalog_file(CatalogKind::fabrics, slowest_fabric(), roots);
  REQUIRE(file.has_value());
  const auto slowest = read_fabric(*file, "", context);
  REQUIRE(slowest.has_value());
  for (const CatalogFile& entry : list_catalog_files(CatalogKind::hosts, roots)) {
    CAPTURE(entry.name);
    const auto host = read_host(entry, "", context);
    REQUIRE(host.has_value());
    CHECK(slowest->link.bandwidth <= host->nic.bandwidth);
  }
}

}  // namespace foretrain
