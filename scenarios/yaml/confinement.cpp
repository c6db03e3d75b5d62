// SPDX-License-Identifier: Apache-2.0
#include "scenarios/yaml/confinement.hpp"

#include <algorithm>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
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
