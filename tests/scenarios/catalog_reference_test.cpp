// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/fields/reference.hpp"

using namespace foretrain;

TEST_CASE("catalog reference: the committed page is generated from the field tables",
          "[scenarios][golden]") {
  std::string page;
  for (const auto& entry : EnumNames<CatalogKind>::names) {
    if (!page.empty()) page += "\n";
    page += reference_page(catalog_fields(entry.first));
  }
  const std::filesystem::path file =
      std::filesystem::path(FORETRAIN_SOURCE_DIR) / "scenarios" / "CATALOG_REFERENCE.md";
  if (std::getenv("FORETRAIN_UPDATE_GOLDEN") != nullptr)
    std::ofstream(file, std::ios::binary) << page;
  std::ostringstream committed;
  committed << std::ifstream(file, std::ios::binary).rdbuf();
  INFO(file.string());
  CHECK(committed.str() == page);
}
