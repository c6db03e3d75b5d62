// SPDX-License-Identifier: Apache-2.0

#include "scenarios/catalog/catalog_entry.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "models/base/require.hpp"
#include "scenarios/catalog/catalog_machine.hpp"
#include "scenarios/catalog/catalog_read.hpp"
#include "scenarios/catalog/internal/catalog_path.hpp"
#include "scenarios/catalog/machine_names.hpp"
#include "scenarios/catalog/model_names.hpp"
#include "scenarios/yaml/confinement.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/sha256.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {

bool is_bookkeeping(std::string_view path) {
  for (const std::string_view key : {"schema", "name", "title", "pci_ids", "deviations", "aliases",
                                     "short_names", "platforms", "host", "default"})
    if (path == key) return true;
  return path == like_key || path.starts_with("family.") || path.starts_with("sources[");
}

bool is_catalog_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.find('\\') != std::string::npos ||
         std::filesystem::path(name).extension() == ".yaml" ||
         std::filesystem::path(name).extension() == ".json";
}

std::optional<std::filesystem::path> named_file(const CatalogRequest& request,
                                                CatalogContext& context) {
  const std::filesystem::path folder = context.folder.empty() ? "." : context.folder;
  const std::filesystem::path file = folder / request.name;  // which may be absolute
  const ReadRoots roots = roots_of(folder, {{}, context.catalogs, context.root});
  if (std::string refused = place_refusal(request.name, canonical_of(file), roots, "read");
      !refused.empty()) {
    context.diagnostics.add(request.mark, request.path, std::move(refused));
    return std::nullopt;
  }
  return file;
}

namespace {

/// Kinds whose entries a scenario may also name by a path of its own.
bool may_be_path(CatalogKind kind) {
  return kind == CatalogKind::fabrics || kind == CatalogKind::device_profiles ||
         kind == CatalogKind::stacks || kind == CatalogKind::sites || kind == CatalogKind::engines;
}

std::optional<CatalogFile> find_path(CatalogKind kind, const CatalogRequest& request,
                                     CatalogContext& context) {
  const std::filesystem::path written(request.name);
  const auto refuse = [&](const std::string& why) {
    context.diagnostics.add(request.mark, request.path, in_quotes(request.name) + why);
    return std::nullopt;
  };
  if (written.extension() != ".yaml")
    return refuse(fmt::format(" is not read: a {} is a catalog name or the path of a YAML file",
                              entry_noun(kind)));
  const std::optional<std::filesystem::path> file = named_file(request, context);
  if (!file) return std::nullopt;
  std::error_code error;
  if (!std::filesystem::is_regular_file(*file, error)) return refuse(" is not a file");
  return CatalogFile{kind, written.stem().string(), *file,
                     file->lexically_normal().generic_string()};
}

/// How a user adds an entry that no catalog has.
std::string how_to_add(CatalogKind kind, const std::string& name) {
  const bool machine = kind == CatalogKind::devices || kind == CatalogKind::hosts;
  std::string text = fmt::format(
      ". To add {0}: {2}copy the file of a relative (foretrain show {1} NAME shows where it is) to "
      "DIR/{1}/{0}.yaml, change what differs, and give --catalog DIR",
      name, name_of(kind),
      machine ? fmt::format("foretrain device new --name {} --like RELATIVE writes a GPU and its "
                            "host from a datasheet, for --catalog; or ",
                            name)
              : std::string());
  if (kind == CatalogKind::device_profiles)
    text += fmt::format(
        "; or write like: RELATIVE into the device's own file, and its constants count in "
        "proportion "
        "to the datasheets; where such GPUs can be measured, foretrain calibrate run --out run1 "
        "and then foretrain "
        "calibrate fit --measured run1 --device {} --out FILE --catalog DIR replace its rates",
        name);
  return text;
}

/// Hosts and their devices are what people lack; what else is misspelt has a nearest name.
bool is_worth_adding(CatalogKind kind, const std::string& hint) {
  return kind == CatalogKind::device_profiles ||
         (hint.empty() && (kind == CatalogKind::devices || kind == CatalogKind::hosts));
}

}  // namespace

std::optional<CatalogFile> find_requested(CatalogKind kind, const CatalogRequest& request,
                                          CatalogContext& context) {
  if (may_be_path(kind) && is_catalog_path(request.name)) return find_path(kind, request, context);
  const std::size_t before = context.diagnostics.count();
  const auto roots = catalog_roots(context.catalogs, context.diagnostics);
  if (context.diagnostics.count() != before) return std::nullopt;
  if (is_entry_name(request.name))
    if (auto file = find_catalog_file(kind, request.name, roots)) return file;
  if (auto file = find_by_alias(kind, request.name, roots)) return file;
  const bool model = kind == CatalogKind::models;
  if (model)
    if (const HubModel known = hub_model(request.name, context.catalogs); !known.name.empty())
      return find_catalog_file(kind, known.name, roots);
  if (std::string about = about_machine(kind, request.name, roots); !about.empty()) {
    context.diagnostics.add(request.mark, request.path, std::move(about));
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const CatalogFile& file : list_catalog_files(kind, roots)) names.push_back(file.name);
  std::string message = fmt::format("there is no {} {}", entry_noun(kind), in_quotes(request.name));
  const std::string hint =
      nearest_hint(model ? lower_case(last_part(request.name)) : request.name, names);
  message += hint.empty() ? "." : hint;
  constexpr std::size_t most_named = 100;
  if (names.empty())
    message += " The catalog has none";
  else if (names.size() <= most_named)
    message += " Known: " + joined(names);
  else
    message += fmt::format(" foretrain show {} lists the {}", name_of(kind), names.size());
  if (is_entry_name(request.name) && is_worth_adding(kind, hint))
    message += how_to_add(kind, request.name);
  context.diagnostics.add(request.mark, request.path, std::move(message));
  return std::nullopt;
}

void add_source_file(const CatalogFile& file, const std::string& text, CatalogContext& context) {
  add_source_hash(file, sha256_hex(text), context);
}

void add_source_hash(const CatalogFile& file, const std::string& hash, CatalogContext& context) {
  for (const SourceFile& known : context.files)
    if (known.path == file.shown) return;
  context.files.push_back({file.shown, hash});
}

void record_value(const FieldValue& value, const std::string& prefix, CatalogContext& context) {
  if (is_bookkeeping(value.path) || value.field->kind == FieldKind::tree) return;
  context.values.push_back({prefix + "." + value.path, value.text, value.origin()});
}

Provenance provenance_of_sources(const FieldValues& values, Trust trust) {
  Provenance provenance;
  provenance.trust = trust;
  for (int i = 0; i < values.list_size("sources"); ++i) {
    const std::string source = fmt::format("sources[{}]", i);
    if (!provenance.source.empty()) provenance.source += "; ";
    provenance.source += values.text(source + ".cite");
    provenance.date = std::max(provenance.date, values.text(source + ".date"));
  }
  return provenance;
}

KeyRows head_keys(bool title_required, bool like) {
  Field schema = schema_field();
  schema.own = true;
  KeyRows keys{
      keys::unbound(std::move(schema)),
      keys::unbound({.path = "name",
                     .help = "What scenarios call it; the file is named the same.",
                     .example = "my-entry",
                     .required = true,
                     .own = true}),
      keys::unbound({.path = "title",
                     .help = "What reports call it.",
                     .example = "My entry",
                     .required = title_required,
                     .own = true}),
  };
  if (like)
    keys.push_back(
        keys::unbound({.path = "like",
                       .help = "Entry of the same kind that gives whatever this file does not.",
                       .example = "megatron-core",
                       .own = true}));
  return keys;
}

KeyRows source_keys() {
  return {
      keys::unbound({.path = "sources",
                     .kind = FieldKind::list,
                     .help = "Where the values come from; together they cover every value.",
                     .required = true,
                     .own = true}),
      keys::unbound({.path = "sources[].covers",
                     .kind = FieldKind::text_list,
                     .help = "Keys, or groups of keys, that this source vouches for.",
                     .example = "[layers, hidden]",
                     .required = true}),
      keys::unbound({.path = "sources[].cite",
                     .help = "Document and place, or how the value was inferred.",
                     .example = "arXiv 2307.09288 Table 1",
                     .required = true}),
      keys::unbound({.path = "sources[].date",
                     .help = "Date of the source.",
                     .example = "2023-07-18",
                     .required = true}),
  };
}

KeyRows deviation_keys() {
  return {
      keys::unbound({.path = "deviations",
                     .kind = FieldKind::tree,
                     .help = "Posterior standard deviations of the logarithms of fitted values, "
                             "by key (`foretrain calibrate fit`)."})};
}

KeyRows measurement_keys() {
  const auto texts = [](const char* path, const char* help, const char* example) {
    return keys::unbound(
        {.path = path, .kind = FieldKind::text_list, .help = help, .example = example});
  };
  return {
      keys::unbound({.path = "provenance.driver",
                     .help = "Driver and libraries that it was measured with.",
                     .example = "580.65.06"}),
      keys::unbound({.path = "provenance.base",
                     .help = "Profile that constants come from which were not measured.",
                     .example = "h100-sxm5-80gb"}),
      texts("provenance.inherited", "Those constants.", "[alone.attention]"),
      texts("provenance.files", "Logs that it was fitted on, each with its SHA-256.",
            "[\"gpubench.jsonl 9f86d081884c7d65\"]"),
      keys::unbound({.path = "provenance.hold_out",
                     .kind = FieldKind::integer,
                     .help =
                         "One of this many records was left out of the fit, for `calibrate check`; "
                         "0: none was.",
                     .example = "5",
                     .min = 0,
                     .max = 1000}),
      texts("provenance.residuals", "Errors of the fit, by what was measured.",
            "[\"gemm bf16: 512 records, mean 3.1 %\"]"),
      texts("provenance.verdict", "What the measurements are worth, in sentences.",
            "[\"2-node data only: multi-node predictions extrapolate\"]"),
  };
}

namespace {

/// Calls `use` with every file of the built-in catalog.
template <class Use>
void for_each_built_in(CatalogKind kind, Diagnostics& diagnostics, Use use) {
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{{}, {}, diagnostics, files, values};
  const auto roots = catalog_roots({}, diagnostics);
  diagnostics.throw_if_any();
  for (const CatalogFile& file : list_catalog_files(kind, roots)) use(file, context);
  diagnostics.throw_if_any();
}

}  // namespace

DefaultMachine default_machine() {
  Diagnostics diagnostics;
  std::vector<DefaultMachine> machines;
  for_each_built_in(CatalogKind::hosts, diagnostics,
                    [&](const CatalogFile& file, CatalogContext& context) {
                      const auto values = read_catalog_file(file, host_fields(), context, nullptr);
                      if (values && values->has("default") && values->boolean("default"))
                        machines.push_back({file.name, values->text("network.link")});
                    });
  if (machines.size() != 1)
    diagnostics.add(
        Diagnostic{"topologies/catalog/hosts", 0, 0, "default",
                   fmt::format("one host says default: true, and not {}", machines.size())});
  diagnostics.throw_if_any();
  return std::move(machines.front());
}

std::string slowest_fabric() {
  Diagnostics diagnostics;
  std::optional<FabricPreset> slowest;
  for_each_built_in(CatalogKind::fabrics, diagnostics,
                    [&](const CatalogFile& file, CatalogContext& context) {
                      auto preset = read_fabric(file, "", context);
                      if (preset && (!slowest || preset->link.bandwidth < slowest->link.bandwidth))
                        slowest = std::move(preset);
                    });
  FORETRAIN_REQUIRE(slowest.has_value());
  return slowest->name;
}

}  // namespace foretrain
