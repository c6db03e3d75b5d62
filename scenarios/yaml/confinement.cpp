// SPDX-License-Identifier: Apache-2.0

#include "scenarios/yaml/confinement.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "models/base/own_binary.hpp"
#include "scenarios/yaml/diagnostics.hpp"

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

namespace {

namespace fs = std::filesystem;

/// Whether `path` is `folder` or lies below it. Both canonical.
bool lies_in(const fs::path& path, const fs::path& folder) {
  if (path.empty() || folder.empty()) return false;
  const auto [in_folder, in_path] =
      std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return in_folder == folder.end() || (in_folder->empty() && std::next(in_folder) == folder.end());
}

bool is_marked(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / ".git", error) || fs::exists(folder / ".foretrain-root", error);
}

}  // namespace

fs::path canonical_of(const fs::path& path) {
  std::error_code error;
  fs::path result = fs::weakly_canonical(path, error);
  return error ? fs::path{} : result;
}

fs::path repository_of(const fs::path& folder) {
  for (fs::path at = canonical_of(folder); at.has_relative_path(); at = at.parent_path())
    if (is_marked(at)) return at;
  return {};
}

ReadRoots roots_of(const fs::path& folder, const LoadOptions& options) {
  ReadRoots roots{{canonical_of(folder)}, !options.root.empty()};
  for (const fs::path& catalog : options.catalogs) roots.folders.push_back(canonical_of(catalog));
  if (roots.repository) roots.folders.push_back(canonical_of(options.root));
  return roots;
}

std::string path_refusal(const std::string& written, const fs::path& target, const ReadRoots& roots,
                         std::string_view what) {
  if (written.empty()) return "must not be empty";
  if (fs::path(written).is_absolute())
    return fmt::format("{} is an absolute path; write it relative to this file",
                       in_quotes(written));
  return place_refusal(written, target, roots, what);
}

std::string place_refusal(const std::string& written, const fs::path& target,
                          const ReadRoots& roots, std::string_view what) {
  if (std::ranges::none_of(roots.folders,
                           [&](const fs::path& root) { return lies_in(target, root); }))
    return fmt::format(
        "{} leads out of the scenario's {}; only files in it or below it can be {}, or below "
        "--root DIR",
        in_quotes(written), roots.repository ? "repository" : "folder", what);
  return {};
}

}  // namespace foretrain
