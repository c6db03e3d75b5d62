// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/catalog_files.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <system_error>

#include "models/base/require.hpp"
#include "scenarios/yaml/text_file.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

/// Where a kind's entries lie, and what one of them is called.
struct KindWords {
  std::string_view folder;
  std::string_view noun;
  std::string_view layer;  ///< its folder in a folder of profiles; empty: it is of no profiles
};

/// In the order of CatalogKind.
constexpr std::array kind_words{
    KindWords{"models/catalog", "model", ""},
    KindWords{"topologies/catalog/devices", "device", ""},
    KindWords{"topologies/catalog/hosts", "host", ""},
    KindWords{"topologies/catalog/links", "link", ""},
    KindWords{"topologies/catalog/fabrics", "fabric preset", ""},
    KindWords{"calibration/profiles/device", "device profile", "device"},
    KindWords{"calibration/profiles/stack", "stack", "stack"},
    KindWords{"calibration/profiles/site", "site", "site"},
    KindWords{"calibration/profiles/engine", "engine", "engine"}};
static_assert(kind_words.size() == EnumNames<CatalogKind>::names.size());

const KindWords& words_of(CatalogKind kind) {
  return kind_words.at(static_cast<std::size_t>(kind));
}

/// Folders of a root that may hold entries of a kind, relative to it.
std::vector<std::string> folders_of(CatalogKind kind, bool built_in) {
  std::vector<std::string> folders{std::string(words_of(kind).folder), std::string(name_of(kind))};
  if (const std::string_view layer = words_of(kind).layer; !built_in && !layer.empty())
    folders.emplace_back(layer);
  return folders;
}

/// Built-in files are shown as they lie in the data folder, so that messages and results do not
/// depend on where the program is installed.
CatalogFile catalog_file(CatalogKind kind, const fs::path& root, bool built_in,
                         const std::string& folder, const std::string& name) {
  const std::string below = folder + "/" + name + ".yaml";
  const fs::path file = root / folder / (name + ".yaml");
  return {kind, name, file, built_in ? below : file.generic_string(), {}, !built_in};
}

/// Whether a device's file describes a host, too. One that cannot be read does if the word stands
/// there: whoever then reads it tells what is wrong with it.
bool has_server(const fs::path& file) {
  Diagnostics unheard;
  const auto text = read_text_file(file, file.string(), YamlLimits{}.file_bytes, unheard);
  if (!text || text->find(server_key) == std::string::npos) return false;
  const auto document = parse_yaml(*text, file.string(), YamlLimits{}, unheard);
  return !document || document->find(server_key) != nullptr;
}

/// Hosts that stand in the files of their devices.
void within_devices(std::vector<CatalogFile>& files) {
  std::erase_if(files, [](const CatalogFile& file) { return !has_server(file.file); });
  for (CatalogFile& file : files) {
    file.kind = CatalogKind::hosts;
    file.within = server_key;
  }
}

/// Every file of a kind in one root.
std::vector<CatalogFile> all_files_in(CatalogKind kind, const fs::path& root, bool built_in) {
  std::vector<CatalogFile> files;
  std::error_code error;
  for (const std::string& folder : folders_of(kind, built_in))
    for (const fs::directory_entry& entry : fs::directory_iterator(root / folder, error)) {
      const std::string stem = entry.path().stem().string();
      std::error_code type_error;
      if (entry.path().extension() == ".yaml" && is_entry_name(stem) &&
          entry.is_regular_file(type_error))
        files.push_back(catalog_file(kind, root, built_in, folder, stem));
    }
  return files;
}

/// Files of a kind in one root, those of that name alone if there is one; twice where two folders
/// have it.
std::vector<CatalogFile> files_in(CatalogKind kind, const fs::path& root, bool built_in,
                                  const std::string& name) {
  std::vector<CatalogFile> files;
  std::error_code error;
  if (is_device_file(root)) {
    const std::string stem = root.stem().string();
    if (kind == CatalogKind::devices && is_entry_name(stem) && (name.empty() || name == stem))
      files.push_back({kind, stem, root, root.generic_string(), {}, true});
  } else if (!name.empty()) {
    for (const std::string& folder : folders_of(kind, built_in)) {
      files.push_back(catalog_file(kind, root, built_in, folder, name));
      if (!fs::is_regular_file(files.back().file, error)) files.pop_back();
    }
  } else {
    files = all_files_in(kind, root, built_in);
  }
  if (kind != CatalogKind::hosts || (!name.empty() && !files.empty())) return files;
  std::vector<CatalogFile> servers = files_in(CatalogKind::devices, root, built_in, name);
  within_devices(servers);
  files.insert(files.end(), servers.begin(), servers.end());
  return files;
}

}  // namespace

std::string_view entry_noun(CatalogKind kind) { return words_of(kind).noun; }

std::optional<CatalogFile> find_catalog_file(CatalogKind kind, const std::string& name,
                                             const std::vector<fs::path>& roots,
                                             const std::vector<CatalogFile>& but) {
  FORETRAIN_REQUIRE(is_entry_name(name));
  for (const fs::path& root : roots)
    for (CatalogFile& candidate : files_in(kind, root, &root == &roots.back(), name)) {
      const bool excluded = std::any_of(but.begin(), but.end(), [&](const CatalogFile& file) {
        return file.same_place(candidate);
      });
      if (!excluded) return std::move(candidate);
    }
  return std::nullopt;
}

std::vector<CatalogFile> list_catalog_files(CatalogKind kind, const std::vector<fs::path>& roots) {
  std::map<std::string, CatalogFile> found;
  for (const fs::path& root : roots)
    for (CatalogFile& file : files_in(kind, root, &root == &roots.back(), ""))
      found.emplace(file.name, std::move(file));
  std::vector<CatalogFile> files;
  files.reserve(found.size());
  for (auto& [name, file] : found) files.push_back(std::move(file));
  return files;
}

std::vector<std::string> own_profiles(const fs::path& folder) {
  std::vector<std::string> names;
  for (const CatalogKind kind : {CatalogKind::device_profiles, CatalogKind::stacks,
                                 CatalogKind::sites, CatalogKind::engines}) {
    std::vector<std::string> own;
    for (const CatalogFile& file : files_in(kind, folder, false, ""))
      own.push_back(std::string(words_of(kind).layer) + "/" + file.name);
    std::sort(own.begin(), own.end());
    names.insert(names.end(), own.begin(), own.end());
  }
  return names;
}

bool is_entry_name(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name.size() > 64 || !plain(name.front())) return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return plain(c) || c == '.' || c == '-' || c == '_'; });
}

}  // namespace foretrain
