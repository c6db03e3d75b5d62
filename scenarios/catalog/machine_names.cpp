// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/machine_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <system_error>

#include "scenarios/catalog/catalog_device.hpp"
#include "scenarios/catalog/catalog_machine.hpp"
#include "scenarios/catalog/model_names.hpp"
#include "scenarios/fields/field_reader.hpp"
#include "scenarios/fields/field_table.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

struct RefusedMachine {
  std::vector<std::string> names;  ///< in lower case
  std::string title;
  std::string missing;
  std::string instead;
};

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

const FieldTable& not_modelled_fields() {
  static const FieldTable table(
      "Machines that are not modelled",
      {schema_field(),
       {.path = "machines", .kind = FieldKind::list, .help = "One machine, or alike ones, each."},
       {.path = "machines[].names",
        .kind = FieldKind::text_list,
        .help = "What people call them, in lower case.",
        .example = "[my-gpu]",
        .required = true},
       {.path = "machines[].title", .help = "In messages.", .example = "My GPU", .required = true},
       {.path = "machines[].missing",
        .help = "What a model of it would need.",
        .example = "its kernels",
        .required = true},
       {.path = "machines[].instead",
        .help = "What to do.",
        .example = "measure it",
        .required = true},
       {.path = "machines[].source",
        .help = "What was looked through, and when.",
        .example = "datasheets of 2026",
        .required = true}});
  return table;
}

std::vector<RefusedMachine> read_refused(const std::vector<fs::path>& roots) {
  std::vector<RefusedMachine> machines;
  Diagnostics diagnostics;
  for (const fs::path& root : roots) {
    const fs::path file = root / not_modelled_path;
    std::error_code failed;
    if (!fs::is_regular_file(file, failed)) continue;
    const auto text = read_text_file(file, file.string(), YamlLimits{}.file_bytes, diagnostics);
    diagnostics.throw_if_any();
    const auto tree = parse_yaml(*text, not_modelled_path, YamlLimits{}, diagnostics);
    diagnostics.throw_if_any();
    const FieldValues values = read_fields(*tree, not_modelled_fields(), diagnostics);
    diagnostics.throw_if_any();
    for (int i = 0; i < values.list_size("machines"); ++i) {
      const std::string path = fmt::format("machines[{}].", i);
      machines.push_back({values.at(path + "names").texts, values.text(path + "title"),
                          values.text(path + "missing"), values.text(path + "instead")});
    }
  }
  return machines;
}

std::vector<std::string> hosts_with(const std::string& device, const std::vector<fs::path>& roots) {
  std::vector<std::string> hosts;
  Diagnostics diagnostics;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{{}, {}, diagnostics, files, values};
  for (const CatalogFile& file : list_catalog_files(CatalogKind::hosts, roots)) {
    const auto read = read_catalog_file(file, host_fields(), context, nullptr);
    if (read && read->has("device") && read->text("device") == device) hosts.push_back(file.name);
  }
  return hosts;
}

}  // namespace

std::optional<CatalogFile> find_by_alias(CatalogKind kind, const std::string& name,
                                         const std::vector<fs::path>& roots) {
  if (kind != CatalogKind::devices) return std::nullopt;
  const std::string device = device_called(name, DeviceNaming::table);
  return device.empty() ? std::nullopt : find_catalog_file(kind, device, roots);
}

std::string about_machine(CatalogKind kind, const std::string& name,
                          const std::vector<fs::path>& roots) {
  if (kind != CatalogKind::devices && kind != CatalogKind::hosts) return "";
  for (const RefusedMachine& machine : read_refused(roots))
    if (std::count(machine.names.begin(), machine.names.end(), in_lower_case(name)) > 0)
      return fmt::format("{} is not modelled. Missing: {}. Instead: {}", machine.title,
                         machine.missing, machine.instead);
  const auto device = find_by_alias(CatalogKind::devices, name, roots);
  if (kind != CatalogKind::hosts || !device) return "";
  const std::vector<std::string> hosts = hosts_with(device->name, roots);
  if (hosts.empty()) return "";
  return fmt::format("{} is a GPU; hosts with it: {}", device->name, joined(hosts));
}

std::optional<std::string> host_with_device(const CatalogRequest& device, CatalogContext& context) {
  const auto file = find_requested(CatalogKind::devices, device, context);
  const auto entry = file ? read_device_entry(*file, "", context) : std::nullopt;
  if (!entry) return std::nullopt;
  if (!entry->host.empty()) return entry->host;
  const auto roots = catalog_roots(context.catalogs, context.diagnostics);
  if (find_catalog_file(CatalogKind::hosts, file->name, roots)) return file->name;
  const std::vector<std::string> hosts = hosts_with(file->name, roots);
  if (hosts.size() == 1) return hosts.front();
  context.diagnostics.add(
      device.mark, device.path,
      hosts.empty() ? fmt::format("no host of the catalogs has {}; describe one under `{}` in {}, "
                                  "or give a host",
                                  file->name, server_key, file->shown)
                    : fmt::format("several hosts have {}; give one of them as host: {}", file->name,
                                  joined(hosts)));
  return std::nullopt;
}

std::string share_refusal(int gpus, const std::string& host, int per_host) {
  const int whole = gpus / per_host * per_host;
  return fmt::format("{} GPUs are not as many of every {}, which has {}; give {} or {}", gpus, host,
                     per_host, whole, whole + per_host);
}

}  // namespace foretrain
