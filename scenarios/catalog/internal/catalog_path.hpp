// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/catalog/catalog.hpp"

namespace foretrain {

/// Whether a value means a file rather than a catalog's entry.
[[nodiscard]] bool is_catalog_path(const std::string& name);
/// The file that a request names by a path, which starts at the folder of the scenario. Nothing
/// after reporting that files of that place are not read (confinement.hpp).
[[nodiscard]] std::optional<std::filesystem::path> named_file(const CatalogRequest& request,
                                                              CatalogContext& context);

/// Keys that say what a file is about, not what is true of the thing.
[[nodiscard]] bool is_bookkeeping(std::string_view path);

}  // namespace foretrain
