// SPDX-License-Identifier: Apache-2.0
#include "scenarios/yaml/data_roots.hpp"

#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "models/base/own_binary.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

/// What every data folder holds.
constexpr const char* models_folder = "models/catalog";

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// The built-in data: see catalog_roots().
std::optional<fs::path> installed_data() {
  const OwnBinary own = own_binary();
  if (own.file.empty()) return std::nullopt;
  const fs::path folder = fs::path(own.file).parent_path();
  std::vector<fs::path> prefixes{folder.parent_path()};
  // A module of Python brings its data (a wheel), or lies in PREFIX/lib/python3/dist-packages/NAME.
  if (own.library)
    prefixes = {folder, folder.parent_path().parent_path().parent_path().parent_path()};
  for (const fs::path& prefix : prefixes)
    if (fs::path data = prefix / "share" / "foretrain"; is_folder(data / models_folder))
      return data;
  return std::nullopt;
}

}  // namespace

bool is_device_file(const fs::path& root) {
  std::error_code error;
  return root.extension() == ".yaml" && fs::is_regular_file(root, error);
}

std::vector<fs::path> catalog_roots(const std::vector<fs::path>& extra, Diagnostics& diagnostics) {
  std::vector<fs::path> roots = extra;
  const char* chosen = std::getenv("FORETRAIN_DATA_DIR");
  if (chosen != nullptr && *chosen != '\0') {
    roots.emplace_back(chosen);
  } else if (auto installed = installed_data()) {
    roots.push_back(std::move(*installed));
  } else {
    roots.emplace_back(FORETRAIN_SOURCE_DATA_DIR);
  }
  const auto report = [&](const fs::path& root, const char* lack) {
    diagnostics.add({root.string(),
                     0,
                     0,
                     {},
                     std::string(lack) +
                         ", so no catalog can be read from it; set FORETRAIN_DATA_DIR to the "
                         "folder that holds models/catalog"});
  };
  for (const fs::path& root : roots)
    if (!is_folder(root) && (&root == &roots.back() || !is_device_file(root)))
      report(root, "is not a folder");
    else if (&root == &roots.back() && !is_folder(root / models_folder))
      report(root, "holds no models/catalog");
  return roots;
}

}  // namespace foretrain
