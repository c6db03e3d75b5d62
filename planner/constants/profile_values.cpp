// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "planner/constants/internal/profile_values.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::pair<std::string_view, CatalogKind>, 4> layers{
    {{"device", CatalogKind::device_profiles},
     {"stack", CatalogKind::stacks},
     {"site", CatalogKind::sites},
     {"fabric", CatalogKind::fabrics}}};

FieldValues values_of(const CatalogFile& file, const std::vector<fs::path>& catalogs) {
  Diagnostics diagnostics;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{catalogs, {}, diagnostics, files, values};
  auto read = read_catalog_file(file, catalog_fields(file.kind), context, nullptr);
  diagnostics.throw_if_any();
  if (!read) throw UsageError("cannot read " + file.shown);
  return std::move(*read);
}

/// The one kind that has an entry of this name.
std::optional<CatalogKind> kind_with(const std::string& entry,
                                     const std::vector<fs::path>& catalogs) {
  Diagnostics diagnostics;
  const auto roots = catalog_roots(catalogs, diagnostics);
  diagnostics.throw_if_any();
  std::vector<CatalogKind> kinds;
  if (is_entry_name(entry))
    for (const auto& [layer, kind] : layers)
      if (find_catalog_file(kind, entry, roots)) kinds.push_back(kind);
  return kinds.size() == 1 ? std::optional{kinds.front()} : std::nullopt;
}

/// What a file is, by a group that only that kind has, or by what it is like.
CatalogKind kind_of(const std::string& name, const fs::path& path,
                    const std::vector<fs::path>& catalogs) {
  Diagnostics diagnostics;
  const YamlLimits limits;
  const auto text = read_text_file(path, name, limits.file_bytes, diagnostics);
  const auto root = text ? parse_yaml(*text, name, limits, diagnostics) : std::optional<YamlNode>{};
  diagnostics.throw_if_any();
  constexpr std::array<std::pair<std::string_view, CatalogKind>, 4> signs{
      {{"gemm", CatalogKind::device_profiles},
       {"times", CatalogKind::stacks},
       {"across", CatalogKind::sites},
       {"switch_radix", CatalogKind::fabrics}}};
  for (const auto& [key, kind] : signs)
    if (root && root->find(key) != nullptr) return kind;
  const YamlNode* const like = root ? root->find("like") : nullptr;
  if (like != nullptr && like->is_scalar())
    if (const auto kind = kind_with(like->text, catalogs)) return *kind;
  throw UsageError(name + " is not a profile of a device, stack, site or fabric");
}

CatalogFile catalog_file(CatalogKind kind, const std::string& name,
                         const std::vector<fs::path>& catalogs) {
  Diagnostics diagnostics;
  const auto roots = catalog_roots(catalogs, diagnostics);
  diagnostics.throw_if_any();
  if (is_entry_name(name))
    if (auto file = find_catalog_file(kind, name, roots)) return *file;
  std::vector<std::string> names;
  for (const CatalogFile& file : list_catalog_files(kind, roots)) names.push_back(file.name);
  throw UsageError("there is no " + std::string(entry_noun(kind)) + " " + in_quotes(name) +
                   nearest_hint(name, names) + "; known: " + joined(names));
}

}  // namespace

FieldValues profile_values(CatalogKind kind, const std::string& name,
                           const std::vector<fs::path>& catalogs) {
  return values_of(catalog_file(kind, name, catalogs), catalogs);
}

NamedProfile named_profile(const std::string& name, const std::vector<fs::path>& catalogs) {
  NamedProfile profile;
  for (const auto& [layer, kind] : layers) {
    const std::string start = std::string(layer) + "/";
    if (!name.starts_with(start) || fs::path(name).extension() == ".yaml") continue;
    profile.kind = kind;
    profile.file = catalog_file(kind, name.substr(start.size()), catalogs);
    profile.values = values_of(profile.file, catalogs);
    return profile;
  }
  const fs::path path(name);
  if (path.extension() != ".yaml")
    throw UsageError(in_quotes(name) +
                     " is not the path of a YAML file, nor of the form device/NAME, stack/NAME, "
                     "site/NAME or fabric/NAME");
  profile.kind = kind_of(name, path, catalogs);
  profile.file = {profile.kind, path.stem().string(), path, name};
  profile.values = values_of(profile.file, catalogs);
  return profile;
}

bool is_profile_bookkeeping(std::string_view path) {
  for (const std::string_view key : {"schema", "name", "title", "like", "device", "deviations"})
    if (path == key) return true;
  return path.starts_with("provenance.") || path.starts_with("sources");
}

}  // namespace foretrain
