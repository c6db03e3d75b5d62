// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/load_options.hpp"

namespace foretrain {

/// A catalog entry for listings.
struct CatalogEntry {
  std::string
      kind;  ///< "devices", "hosts", "fabrics", "links", "models", "stacks", "sites", "engines"
  std::string name;
  std::string title;
  std::string summary;  ///< one line of the numbers people choose by
  std::filesystem::path file;
};

/// A catalog file that has errors: looking up its name reports them, and nothing else does.
struct BrokenEntry {
  std::string name;
  std::vector<Diagnostic> problems;
};

/// A catalog as people see it.
struct CatalogListing {
  std::vector<CatalogEntry> entries;  ///< as catalog_entries() gives them
  std::vector<BrokenEntry> broken;    ///< sorted by name
};

/// @throws ScenarioError for an unknown kind and for catalogs that are no folder
[[nodiscard]] CatalogListing catalog_listing(const std::string& kind,
                                             const LoadOptions& options = {});

/// Every entry of one kind, sorted by name.
[[nodiscard]] std::vector<CatalogEntry> catalog_entries(const std::string& kind,
                                                        const LoadOptions& options = {});

}  // namespace foretrain
