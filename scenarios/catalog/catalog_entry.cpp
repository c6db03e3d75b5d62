// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/catalog_entry.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include "scenarios/catalog/internal/catalog_path.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/sha256.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

/// Keys that say what a file is about, not what is true of the thing.
bool is_bookkeeping(std::string_view path) {
  return path == "schema" || path == "name" || path == "title" || path == "pci_ids" ||
         path == "deviations" || starts_with(path, "sources[");
}

bool covers(std::string_view source, std::string_view path) {
  return path == source ||
         (starts_with(path, source) && path.size() > source.size() && path[source.size()] == '.');
}

bool is_iso_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (const std::size_t at : {0U, 1U, 2U, 3U, 5U, 6U, 8U, 9U})
    if (std::isdigit(static_cast<unsigned char>(text[at])) == 0) return false;
  const int month = (text[5] - '0') * 10 + (text[6] - '0');
  const int day = (text[8] - '0') * 10 + (text[9] - '0');
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

void check_date(const FieldValues& values, const std::string& path, Diagnostics& diagnostics) {
  const FieldValue* date = values.find(path);
  if (date != nullptr && !is_iso_date(date->text))
    diagnostics.add(date->mark, path,
                    in_quotes(date->text) +
                        " is not a date; write year-month-day, for example "
                        "2024-07-23");
}

void check_sources(const FieldValues& values, Diagnostics& diagnostics) {
  std::vector<std::string> covered;
  for (int i = 0; i < values.list_size("sources"); ++i) {
    const std::string source = fmt::format("sources[{}]", i);
    check_date(values, source + ".date", diagnostics);
    const FieldValue* keys = values.find(source + ".covers");
    if (keys == nullptr) continue;
    for (const std::string& key : keys->texts) {
      covered.push_back(key);
      const bool used =
          std::any_of(values.all().begin(), values.all().end(), [&](const FieldValue& value) {
            return !value.is_default && !is_bookkeeping(value.path) && covers(key, value.path);
          });
      if (!used)
        diagnostics.add(keys->mark, source + ".covers",
                        in_quotes(key) +
                            " is not a key of this file; a source covers keys or groups "
                            "of keys that stand in it");
    }
  }
  for (const FieldValue& value : values.all()) {
    if (value.is_default || is_bookkeeping(value.path)) continue;
    if (std::none_of(covered.begin(), covered.end(),
                     [&](const std::string& key) { return covers(key, value.path); }))
      diagnostics.add(value.mark, value.path,
                      "no source covers this value; list it under `covers` of one of `sources`");
  }
}

void check_name(const FieldValues& values, const CatalogFile& file, Diagnostics& diagnostics) {
  const FieldValue* name = values.find("name");
  if (name != nullptr && name->text != file.name)
    diagnostics.add(name->mark, "name",
                    fmt::format("{} does not match the file, which is named {}.yaml",
                                in_quotes(name->text), file.name));
}

/// Every line is a number of this file, and how sure a fit is of its logarithm.
void check_deviations(const FieldValues& values, Diagnostics& diagnostics) {
  constexpr double most = 10.0;
  const FieldValue* const written = values.find("deviations");
  if (written == nullptr) return;
  if (!written->node.is_map()) {
    diagnostics.add(written->mark, "deviations", "is not a map of keys and numbers");
    return;
  }
  for (const YamlEntry& entry : written->node.entries) {
    const std::string path = "deviations." + entry.key;
    const FieldValue* const of = values.find(entry.key);
    const bool number =
        of != nullptr && !of->is_default &&
        (of->field->kind == FieldKind::number || of->field->kind == FieldKind::quantity);
    if (!number)
      diagnostics.add(entry.mark, path, in_quotes(entry.key) + " is not a number of this file");
    const Parsed<double> parsed =
        entry.value.is_scalar() ? parse_number(entry.value.text) : Parsed<double>{};
    if (!parsed.value || !(*parsed.value > 0.0) || *parsed.value > most)
      diagnostics.add(entry.value.mark, path,
                      fmt::format("is not a number above 0 and at most {:g}", most));
  }
}

}  // namespace

bool is_catalog_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.find('\\') != std::string::npos ||
         std::filesystem::path(name).extension() == ".yaml" ||
         std::filesystem::path(name).extension() == ".json";
}

// Also after following symbolic links: a shared scenario must not read files of its reader.
bool lies_below(const std::filesystem::path& file, const std::filesystem::path& folder) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(std::filesystem::absolute(file), error);
  if (error) return false;
  const auto root = std::filesystem::weakly_canonical(
      std::filesystem::absolute(folder.empty() ? "." : folder), error);
  if (error) return false;
  return std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first == root.end();
}

namespace {

/// Kinds whose entries a scenario may also name by a path of its own.
bool may_be_path(CatalogKind kind) {
  return kind == CatalogKind::fabrics || kind == CatalogKind::device_profiles ||
         kind == CatalogKind::stacks || kind == CatalogKind::sites;
}

std::optional<CatalogFile> find_path(CatalogKind kind, const CatalogRequest& request,
                                     CatalogContext& context) {
  const std::filesystem::path written(request.name);
  const std::filesystem::path& folder = context.folder;
  const auto refuse = [&](const std::string& why) {
    context.diagnostics.add(request.mark, request.path, in_quotes(request.name) + why);
    return std::nullopt;
  };
  if (written.extension() != ".yaml")
    return refuse(fmt::format(" is not read: a {} is a catalog name or the path of a YAML file",
                              entry_noun(kind)));
  const std::filesystem::path file = written.is_absolute() ? written : folder / written;
  if (!lies_below(file, folder))
    return refuse(
        " lies outside the folder of the scenario; copy it beside the scenario, or into a catalog "
        "folder");
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return refuse(" is not a file");
  return CatalogFile{written.stem().string(), file, file.lexically_normal().generic_string()};
}

}  // namespace

namespace {

/// How a user adds an entry that no catalog has.
std::string how_to_add(CatalogKind kind, const std::string& name) {
  std::string text = fmt::format(
      ". To add {0}: copy the file of a relative (foretrain show {1} NAME shows where it is) to "
      "DIR/{1}/{0}.yaml, change what differs, and give --catalog DIR",
      name, name_of(kind));
  if (kind == CatalogKind::device_profiles)
    text += fmt::format(
        "; where such GPUs can be measured, foretrain calibrate run --out run1 and then foretrain "
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
  std::vector<std::string> names;
  for (const CatalogFile& file : list_catalog_files(kind, roots)) names.push_back(file.name);
  std::string message = fmt::format("there is no {} {}", entry_noun(kind), in_quotes(request.name));
  const std::string hint = nearest_hint(request.name, names);
  message += hint.empty() ? "." : hint;
  message += names.empty() ? " The catalog has none" : " Known: " + joined(names);
  if (is_entry_name(request.name) && is_worth_adding(kind, hint))
    message += how_to_add(kind, request.name);
  context.diagnostics.add(request.mark, request.path, std::move(message));
  return std::nullopt;
}

namespace {

/// A catalog file that was read before, without an error, and what it held.
struct KnownFile {
  const FieldTable* table = nullptr;
  std::string text;
  std::string hash;
  FieldValues values;
};

/// Reading is cheap, parsing and checking is not, and searches, sweeps and importers ask for the
/// same few files again and again: what a file holds is kept for as long as its text stays the
/// same.
class KnownFiles {
 public:
  [[nodiscard]] const KnownFile* find(const CatalogFile& file, const FieldTable& table,
                                      const std::string& text) const {
    const auto found = files_.find({file.file, file.shown});
    const bool same =
        found != files_.end() && found->second.table == &table && found->second.text == text;
    return same ? &found->second : nullptr;
  }
  void keep(const CatalogFile& file, KnownFile known) {
    constexpr std::size_t most = 512;
    if (files_.size() >= most) files_.clear();
    files_.insert_or_assign({file.file, file.shown}, std::move(known));
  }

 private:
  std::map<std::pair<std::filesystem::path, std::string>, KnownFile> files_;
};

void add_source(const CatalogFile& file, const std::string& hash, CatalogContext& context) {
  for (const SourceFile& known : context.files)
    if (known.path == file.shown) return;
  context.files.push_back({file.shown, hash});
}

}  // namespace

std::optional<FieldValues> read_catalog_file(const CatalogFile& file, const FieldTable& table,
                                             CatalogContext& context,
                                             const CatalogRequest* asked_by) {
  Diagnostics& diagnostics = context.diagnostics;
  const std::size_t before = diagnostics.count();
  const YamlLimits limits;
  const auto text = asked_by == nullptr
                        ? read_text_file(file.file, file.shown, limits.file_bytes, diagnostics)
                        : read_text_file(file.file, file.shown, limits.file_bytes, diagnostics,
                                         {asked_by->mark, asked_by->path});
  if (!text) return std::nullopt;
  thread_local KnownFiles known_files;
  if (const KnownFile* known = known_files.find(file, table, *text)) {
    add_source(file, known->hash, context);
    return known->values;
  }
  std::string hash = sha256_hex(*text);
  add_source(file, hash, context);
  const auto root = parse_yaml(*text, file.shown, limits, diagnostics);
  if (!root) return std::nullopt;
  FieldValues values = read_fields(*root, table, diagnostics);
  check_name(values, file, diagnostics);
  if (table.find("sources") != nullptr) check_sources(values, diagnostics);
  check_date(values, "provenance.date", diagnostics);
  check_deviations(values, diagnostics);
  if (diagnostics.count() != before) return std::nullopt;
  known_files.keep(file, {&table, *text, std::move(hash), values});
  return values;
}

void add_source_file(const CatalogFile& file, const std::string& text, CatalogContext& context) {
  add_source(file, sha256_hex(text), context);
}

void record_value(const FieldValue& value, const std::string& prefix, CatalogContext& context) {
  if (is_bookkeeping(value.path)) return;
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

}  // namespace foretrain
