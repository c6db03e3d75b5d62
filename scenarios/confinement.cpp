// SPDX-License-Identifier: Apache-2.0
#include "scenarios/confinement.hpp"

#include <algorithm>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "scenarios/diagnostics.hpp"

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

}  // namespace

fs::path canonical_of(const fs::path& path) {
  std::error_code error;
  fs::path result = fs::weakly_canonical(path, error);
  return error ? fs::path{} : result;
}

std::vector<fs::path> roots_of(const fs::path& folder, const LoadOptions& options) {
  std::vector<fs::path> roots{canonical_of(folder)};
  for (const fs::path& catalog : options.catalogs) roots.push_back(canonical_of(catalog));
  return roots;
}

std::string path_refusal(const std::string& written, const fs::path& target,
                         const std::vector<fs::path>& roots, std::string_view what) {
  if (written.empty()) return "must not be empty";
  if (fs::path(written).is_absolute())
    return fmt::format("{} is an absolute path; write it relative to this file",
                       in_quotes(written));
  if (std::none_of(roots.begin(), roots.end(),
                   [&](const fs::path& root) { return lies_in(target, root); }))
    return fmt::format(
        "{} leads out of the scenario's folder; only files in it or below it can "
        "be {}",
        in_quotes(written), what);
  return {};
}

}  // namespace foretrain
