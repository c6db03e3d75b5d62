// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace foretrain {

/// Whether a value means a file rather than a catalog's entry.
[[nodiscard]] bool is_catalog_path(const std::string& name);
/// Whether a file is in a folder or below it, links followed.
[[nodiscard]] bool lies_below(const std::filesystem::path& file,
                              const std::filesystem::path& folder);

}  // namespace foretrain
