// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/names.hpp"
#include "scenarios/yaml/confinement.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// The kinds of catalog entries; the names are those of `foretrain show KIND`.
enum class CatalogKind {
  models,
  devices,
  hosts,
  links,
  fabrics,
  device_profiles,
  stacks,
  sites,
  engines
};
FORETRAIN_ENUM_NAMES(CatalogKind, {CatalogKind::models, "models"},
                     {CatalogKind::devices, "devices"}, {CatalogKind::hosts, "hosts"},
                     {CatalogKind::links, "links"}, {CatalogKind::fabrics, "fabrics"},
                     {CatalogKind::device_profiles, "device-profiles"},
                     {CatalogKind::stacks, "stacks"}, {CatalogKind::sites, "sites"},
                     {CatalogKind::engines, "engines"});

/// What one entry of a kind is called in a message: "model", "fabric preset", ...
[[nodiscard]] std::string_view entry_noun(CatalogKind kind);

/// A catalog file on disk.
struct CatalogFile {
  CatalogKind kind;
  std::string name;  ///< of the entry: the file name without ".yaml"
  std::filesystem::path file;
  std::string shown;  ///< in messages and origins: below the data folder, "/" between parts
  /// Key of the document that holds the entry, where a file holds two; empty: it is the document.
  std::string within = {};
  bool own = false;  ///< of a root before the built-in one

  /// Whether both are one place, whatever it is called.
  [[nodiscard]] bool same_place(const CatalogFile& other) const {
    return file == other.file && within == other.within;
  }
};

/// Key of a device's file that describes a host with it, which has the device's name.
inline constexpr std::string_view server_key = "server";

/// Entries of a root of catalog_roots() lie in models/catalog,
/// topologies/catalog/{devices,hosts,links,fabrics} and
/// calibration/profiles/{device,stack,site,engine}; in an extra root also in folders named as the
/// kind, and in {device,stack,site} profiles (own_profiles()). A device's file with `server` is a
/// host, too.
///
/// The first file of that name in `roots` that is none of `but`. @pre is_entry_name(name).
[[nodiscard]] std::optional<CatalogFile> find_catalog_file(
    CatalogKind kind, const std::string& name, const std::vector<std::filesystem::path>& roots,
    const std::vector<CatalogFile>& but = {});

/// All files of a kind, sorted by name; the first root that has a name wins.
[[nodiscard]] std::vector<CatalogFile> list_catalog_files(
    CatalogKind kind, const std::vector<std::filesystem::path>& roots);

/// Profiles of devices, stacks and sites in a folder, as "stack/NAME", sorted by layer and name:
/// those that stand before the shipped ones where it is an extra root.
[[nodiscard]] std::vector<std::string> own_profiles(const std::filesystem::path& folder);

/// Lower-case letters, digits, and '.', '-' or '_' after the first character: no path, no escape.
[[nodiscard]] bool is_entry_name(std::string_view name);

}  // namespace foretrain
