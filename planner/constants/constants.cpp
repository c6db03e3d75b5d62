// SPDX-License-Identifier: Apache-2.0

#include "planner/constants/constants.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "calibration/cases/step_case.hpp"
#include "models/base/ranges.hpp"
#include "planner/evidence/internal/record_files.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/catalog/catalog_read.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

struct ProfileFolder {
  std::string_view name;
  CatalogKind kind;
};
constexpr std::array<ProfileFolder, 4> constant_layers{{{"device", CatalogKind::device_profiles},
                                                        {"stack", CatalogKind::stacks},
                                                        {"site", CatalogKind::sites},
                                                        {"fabric", CatalogKind::fabrics}}};

/// Lines of the fit by the profile that they are of.
using LinesOf = std::map<std::string, std::vector<const ConstantLine*>>;

std::vector<ConstantLine> shipped_lines(const std::vector<std::filesystem::path>& catalogs) {
  const RecordFile file = record_file("", constants_name, catalogs, "fits");
  Diagnostics diagnostics;
  auto lines = read_constants_csv(contents(file), file.name, diagnostics);
  diagnostics.throw_if_any();
  return lines;
}

std::string unit_of(const Field& field) {
  switch (field.dimension) {
    case Dimension::time:
      return "time";
    case Dimension::bandwidth:
      return "bytes per second";
    case Dimension::flop_rate:
      return "FLOP/s";
    default:
      return field.kind == FieldKind::quantity ? "quantity" : "";
  }
}

/// Whether a value is a constant of a cost model: a number that says what a machine or a framework
/// does, neither a rule of memory nor what a fit leaves.
bool is_constant(const FieldValue& value) {
  const FieldKind kind = value.field->kind;
  if (kind != FieldKind::number && kind != FieldKind::quantity && kind != FieldKind::integer)
    return false;
  if (is_profile_bookkeeping(value.path)) return false;
  for (const char* group : {"memory.", "band_"})
    if (value.path.starts_with(group)) return false;
  return value.path.find("_band.") == std::string::npos;
}

double deviation_of(const FieldValues& values, const std::string& key) {
  if (!values.has("deviations")) return 0.0;
  const YamlNode* const node = values.at("deviations").node.find(key);
  if (node == nullptr) return 0.0;
  return parse_number(node->text).value.value_or(0.0);
}

ConstantEntry fitted_entry(const ConstantLine& line, const FieldValues& values) {
  const FieldValue* const value = values.find(line.key);
  if (value == nullptr)
    throw UsageError(line.profile + " has no " + line.key + ": run `foretrain calibrate fit`");
  return {line.profile, line.key, value->text, deviation_of(values, line.key), {}, line};
}

/// Fitted constants of a profile, and what its own file sets besides. Fabrics are datasheets but
/// for what is fitted.
std::vector<ConstantEntry> entries_of(const ProfileFolder& layer, const CatalogFile& file,
                                      const std::vector<const ConstantLine*>& lines,
                                      const std::vector<std::filesystem::path>& catalogs) {
  const FieldValues values = profile_values(layer.kind, file.name, catalogs);
  std::set<std::string> fitted;
  std::vector<ConstantEntry> entries;
  for (const ConstantLine* line : lines) {
    fitted.insert(line->key);
    if (line->as.empty()) entries.push_back(fitted_entry(*line, values));
  }
  if (layer.kind != CatalogKind::fabrics)
    for (const FieldValue& value : values.all())
      if (is_own(value, file) && is_constant(value) && fitted.count(value.path) == 0)
        entries.push_back({std::string(layer.name) + "/" + file.name, value.path, value.text});
  std::vector<std::string> order;
  for (const Field& field : catalog_fields(layer.kind).fields()) order.push_back(field.path);
  const auto place = [&](const ConstantEntry& entry) {
    return std::ranges::find(order, entry.key) - order.begin();
  };
  std::ranges::stable_sort(
      entries, [&](const ConstantEntry& a, const ConstantEntry& b) { return place(a) < place(b); });
  return entries;
}

/// Where else a number stands: in other profiles under its key, or under other keys.
void add_shared(const std::vector<ConstantLine>& lines, ConstantEntry& entry) {
  const std::string name = entry.profile + " " + entry.key;
  std::set<std::string> seen{entry.profile, entry.key};
  for (const ConstantLine& line : lines) {
    if (line.as != name) continue;
    for (const std::string& where : {line.profile, line.key})
      if (seen.insert(where).second) entry.shared.push_back(where);
  }
}

/// Circumstances of shipped runs, by profile; those of a device's links have no more GPUs than
/// the links join.
using UsesOf = std::map<std::string, ConstantReach>;

std::string links_of(const std::string& profile) { return profile + " links"; }

UsesOf shipped_uses(const std::vector<std::filesystem::path>& catalogs) {
  UsesOf uses;
  for (const StepRun& run : step_runs(shipped_records(catalogs), load_run_catalog(catalogs))) {
    if (!run.job) continue;
    const Job& job = *run.job;
    const FitRecord record = fit_record(run.check, job, run.year);
    FitRecord links = record;
    links.gpus = std::min(record.gpus, job.cluster.packing().domain);
    uses[links_of("device/" + record.device)].add(links);
    for (const std::string& profile :
         {"device/" + job.cluster.host.device.name, "stack/" + job.stack.name,
          "site/" + job.site.name, "fabric/" + job.cluster.network.preset})
      uses[profile].add(record);
  }
  return uses;
}

void add_uses(UsesOf& uses, ConstantEntry& entry) {
  const bool links = entry.fitted && entry.fitted->fitted_to == "collectives" &&
                     entry.profile.starts_with("device/");
  const auto used = [&](const std::string& profile) {
    return uses[links ? links_of(profile) : profile];
  };
  entry.used = used(entry.profile);
  for (const std::string& other : entry.shared)
    if (other.find('/') != std::string::npos) entry.used.add(used(other));
}

void add_meanings(const ProfileFolder& layer, ConstantLayer& made) {
  std::set<std::string> keys;
  for (const ConstantEntry& entry : made.entries) keys.insert(entry.key);
  for (const Field& field : catalog_fields(layer.kind).fields())
    if (keys.count(field.path) != 0)
      made.meanings.push_back({field.path, unit_of(field), field.help});
}

}  // namespace

double ConstantEntry::told() const {
  if (!fitted || !(fitted->width > 0.0)) return 0.0;
  return std::clamp(1.0 - std::pow(deviation / fitted->width, 2), 0.0, 1.0);
}

ReachBeyond ConstantEntry::farther() const {
  if (!fitted || fitted->records == 0) return {};
  return beyond(fitted->reach, used, fitted->fitted_to != "kernels");
}

ConstantTable constant_table(const ConstantRequest& request) {
  const std::vector<ConstantLine> lines = shipped_lines(request.catalogs);
  LinesOf lines_of;
  for (const ConstantLine& line : lines) lines_of[line.profile].push_back(&line);
  UsesOf uses = shipped_uses(request.catalogs);
  Diagnostics diagnostics;
  const auto roots = catalog_roots(request.catalogs, diagnostics);
  diagnostics.throw_if_any();
  ConstantTable table;
  for (const ProfileFolder& layer : constant_layers) {
    const auto& asked = request.layers;
    if (!asked.empty() && !contains(asked, layer.name)) continue;
    ConstantLayer made{std::string(layer.name), {}, {}};
    for (const CatalogFile& file : list_catalog_files(layer.kind, roots)) {
      const std::string profile = made.name + "/" + file.name;
      for (ConstantEntry& entry : entries_of(layer, file, lines_of[profile], request.catalogs))
        made.entries.push_back(std::move(entry));
    }
    for (ConstantEntry& entry : made.entries) {
      add_shared(lines, entry);
      add_uses(uses, entry);
    }
    add_meanings(layer, made);
    table.layers.push_back(std::move(made));
  }
  return table;
}

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
