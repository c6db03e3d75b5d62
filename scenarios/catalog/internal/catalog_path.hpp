// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace foretrain {

/// Whether a value means a file rather than a catalog's entry.
[[nodiscard]] bool is_catalog_path(const std::string& name);
/// Whether a file is in a folder or below it, links followed.
[[nodiscard]] bool lies_below(const std::filesystem::path& file,
                              const std::filesystem::path& folder);

/// Keys that say what a file is about, not what is true of the thing.
[[nodiscard]] bool is_bookkeeping(std::string_view path);

}  // namespace foretrain
