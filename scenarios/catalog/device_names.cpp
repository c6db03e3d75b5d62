// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/device_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>

#include "scenarios/catalog/catalog_entry.hpp"

namespace foretrain {
namespace {

using Names = std::map<std::string, std::string>;

/// Devices by what they are called; indices as DeviceNaming.
using NamedDevices = std::array<Names, 3>;

NamedDevices read_named_devices() {
  Diagnostics diagnostics;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{{}, {}, diagnostics, files, values};
  NamedDevices named;
  const auto roots = catalog_roots({}, diagnostics);
  diagnostics.throw_if_any();
  for (const CatalogFile& file : list_catalog_files(CatalogKind::devices, roots)) {
    const auto read =
        read_catalog_file(file, catalog_fields(CatalogKind::devices), context, nullptr);
    if (!read) continue;
    const auto add = [&](DeviceNaming naming, const std::string& name, const Mark& mark) {
      auto& names = named[static_cast<std::size_t>(naming)];
      const auto [there, is_new] = names.emplace(name, file.name);
      if (!is_new && there->second != file.name)
        diagnostics.add(mark, "aliases",
                        fmt::format("{} is {} already", in_quotes(name), there->second));
    };
    add(DeviceNaming::product, file.name, {});
    const auto add_all = [&](const char* path, DeviceNaming naming) {
      if (const FieldValue* const list = read->find(path))
        for (const std::string& name : list->texts) add(naming, name, list->mark);
    };
    add_all("aliases", DeviceNaming::product);
    add_all("short_names", DeviceNaming::table);
    add_all("platforms", DeviceNaming::platform);
  }
  diagnostics.throw_if_any();
  return named;
}

const NamedDevices& named_devices() {
  static const NamedDevices named = read_named_devices();
  return named;
}

std::string found(DeviceNaming naming, const std::string& name) {
  const Names& names = named_devices()[static_cast<std::size_t>(naming)];
  if (const auto device = names.find(name); device != names.end()) return device->second;
  const auto alike = [&name](const auto& entry) {
    return std::equal(
        name.begin(), name.end(), entry.first.begin(), entry.first.end(),
        [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
  };
  const auto device = std::find_if(names.begin(), names.end(), alike);
  return device == names.end() ? "" : device->second;
}

std::string product(std::string_view name) {
  const auto start = name.find_first_not_of(" \t");
  if (start == std::string_view::npos) return "";
  name = name.substr(start, name.find_last_not_of(" \t") - start + 1);
  for (const std::string_view maker : {"NVIDIA ", "Tesla "})
    if (name.starts_with(maker)) name.remove_prefix(maker.size());
  return found(DeviceNaming::product, std::string(name));
}

}  // namespace

std::string device_called(const std::string& name, DeviceNaming naming) {
  if (naming == DeviceNaming::product) return product(name);
  if (naming == DeviceNaming::platform) return found(naming, name);
  const std::string bare = name.substr(0, name.find(" ("));
  std::string device = product(bare);
  return device.empty() ? found(naming, bare) : device;
}

}  // namespace foretrain
