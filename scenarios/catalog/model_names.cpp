// SPDX-License-Identifier: Apache-2.0

#include "scenarios/catalog/model_names.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>

#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/fields/shipped_table.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

struct ModelNames {
  std::vector<std::string> additions;
  std::vector<std::string> prefixes;
  std::map<std::string, std::string> shapes;  ///< model of the catalog by plain name
  std::vector<std::pair<std::string, std::string>> packed;
  std::vector<std::string> hub;  ///< OWNER/NAME of models of the catalog

  /// Letters, digits and dots of the last part of a name, in lower case, without additions.
  [[nodiscard]] std::string plain(const std::string& id) const {
    std::string letters;
    for (const char c : lower_case(last_part(id)))
      if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.') letters += c;
    for (const std::string& word : prefixes)
      if (letters.starts_with(word)) letters.erase(0, word.size());
    for (bool again = true; again;) {
      again = false;
      for (const std::string& word : additions)
        if (letters.size() > word.size() && letters.ends_with(word)) {
          letters.resize(letters.size() - word.size());
          again = true;
        }
    }
    return letters;
  }
};

const FieldTable& name_fields() {
  static const FieldTable table(
      "Names of models",
      {schema_field(),
       {.path = "additions",
        .kind = FieldKind::text_list,
        .help = "What names of copies add behind a model's own.",
        .example = "[instruct]"},
       {.path = "prefixes",
        .kind = FieldKind::text_list,
        .help = "What they put before it.",
        .example = "[meta]"},
       {.path = "hub",
        .kind = FieldKind::text_list,
        .help = "Where models of the catalog are released.",
        .example = "[Qwen/Qwen3-8B]"},
       {.path = "shapes", .kind = FieldKind::list, .help = "Models by those of the same shape."},
       {.path = "shapes[].model",
        .help = "Its name in the catalog.",
        .example = "qwen2-7b",
        .required = true},
       {.path = "shapes[].names",
        .kind = FieldKind::text_list,
        .help = "Models with its shape.",
        .example = "[Qwen2.5-7B]",
        .required = true},
       {.path = "packed", .kind = FieldKind::list, .help = "Weights that are not modelled."},
       {.path = "packed[].word", .help = "In the name.", .example = "-gguf", .required = true},
       {.path = "packed[].title", .help = "How they rest.", .example = "GGUF", .required = true}});
  return table;
}

ModelNames names_of(const std::vector<FieldValues>& files) {
  ModelNames names;
  for (const FieldValues& file : files) {
    for (std::string& word : texts_at(file, "additions")) names.additions.push_back(word);
    for (std::string& word : texts_at(file, "prefixes")) names.prefixes.push_back(word);
    for (std::string& id : texts_at(file, "hub")) names.hub.push_back(id);
  }
  for (const FieldValues& file : files) {
    for (int i = 0; i < file.list_size("shapes"); ++i)
      for (const std::string& name : texts_at(file, fmt::format("shapes[{}].names", i)))
        names.shapes.emplace(names.plain(name), file.text(fmt::format("shapes[{}].model", i)));
    for (int i = 0; i < file.list_size("packed"); ++i)
      names.packed.emplace_back(file.text(fmt::format("packed[{}].word", i)),
                                file.text(fmt::format("packed[{}].title", i)));
  }
  return names;
}

std::shared_ptr<const ModelNames> model_names(const std::vector<std::filesystem::path>& catalogs) {
  static ShippedRows<ModelNames> shipped(
      {"scenarios/catalog/model_names.yaml", "model_names.yaml", name_fields}, names_of);
  return shipped.of(catalogs);
}

}  // namespace

std::string last_part(std::string id) {
  while (id.ends_with('/')) id.pop_back();
  return id.substr(id.find_last_of('/') + 1);
}

HubModel hub_model(const std::string& id, const std::vector<std::filesystem::path>& catalogs) {
  const auto names = model_names(catalogs);
  const std::string plain = names->plain(id);
  if (plain.empty()) return {};
  Diagnostics unheard;  // files_of() has thrown for folders that are none
  for (const CatalogFile& file :
       list_catalog_files(CatalogKind::models, catalog_roots(catalogs, unheard)))
    if (names->plain(file.name) == plain) return {file.name};
  const auto found = names->shapes.find(plain);
  return found == names->shapes.end() ? HubModel{} : HubModel{found->second, true};
}

std::string hub_id(const std::string& model, const std::vector<std::filesystem::path>& catalogs) {
  const auto names = model_names(catalogs);
  const std::string plain = names->plain(model);
  for (const std::string& id : names->hub) {
    const std::string name = names->plain(id);
    const auto shape = names->shapes.find(name);
    if (name == plain || (shape != names->shapes.end() && shape->second == model)) return id;
  }
  return {};
}

bool is_hub_id(const std::string& name) {
  const std::string part = last_part(name);
  const std::string owner = name.substr(0, name.find('/'));
  return !part.empty() && !owner.empty() && owner.front() != '.' && part.front() != '.' &&
         name.size() == owner.size() + 1 + part.size() && name.find('\\') == std::string::npos &&
         !part.ends_with(".yaml") && !part.ends_with(".json");
}

std::string packed_otherwise(const std::string& id) {
  const std::string name = lower_case(last_part(id));
  for (const auto& [word, title] : model_names({})->packed)
    if (name.find(word) != std::string::npos) return title;
  return {};
}

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
  for (const std::string_view maker : {"nvidia ", "tesla "})
    if (lower_case(std::string(name)).starts_with(maker)) name.remove_prefix(maker.size());
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
