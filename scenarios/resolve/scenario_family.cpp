// SPDX-License-Identifier: Apache-2.0
#include "scenarios/resolve/scenario_family.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "scenarios/catalog/catalog.hpp"
#include "scenarios/fields/field_scalar.hpp"
#include "scenarios/resolve/internal/resolve_steps.hpp"
#include "scenarios/resolve/resolve_serving.hpp"
#include "scenarios/sections/compose.hpp"
#include "scenarios/sections/scenario_fields.hpp"
#include "scenarios/yaml/sha256.hpp"

namespace foretrain {
namespace {

/// Sections that resolve_own_keys() reads anew for every member. All others ask the catalogs.
constexpr std::array<std::string_view, 8> own_sections = {
    "name", "training", "parallel", "memory", "communication", "operations", "budget", "measured"};

/// Machines are some 50 kB each; beyond this many, they are made again.
constexpr std::size_t most_machines = 256;

std::string section_name(std::string_view path) {
  return std::string(path.substr(0, path.find_first_of(".[")));
}

bool is_own(std::string_view section) { return contains(own_sections, section); }

/// Derived where the scenario does not say them, so that identity takes them from the job.
bool is_derived(std::string_view path) {
  return path == "parallel.data" || path == "communication.transport";
}

bool is_scalar_field(const Field& field) {
  switch (field.kind) {
    case FieldKind::group:
    case FieldKind::list:
    case FieldKind::integer_list:
    case FieldKind::choice_list:
    case FieldKind::text_list:
    case FieldKind::tree:
      return false;
    default:
      return true;
  }
}

bool same_value(const FieldValue* a, const FieldValue* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->text == b->text && a->is_default == b->is_default;
}

bool lies_under(std::string_view path, std::string_view key) {
  return path.starts_with(key) &&
         (path.size() == key.size() || path[key.size()] == '.' || path[key.size()] == '[');
}

/// The value at the end of a document of one setting.
const YamlNode& innermost(const YamlNode& document, std::string_view path) {
  const YamlNode* node = &document;
  for (auto dots = std::ranges::count(path, '.'); dots >= 0; --dots)
    node = &node->entries.front().value;
  return *node;
}

std::vector<std::string> messages(const Diagnostics& diagnostics) {
  std::vector<std::string> result;
  for (const Diagnostic& item : diagnostics.items())
    result.push_back((item.path.empty() ? "" : item.path + ": ") + item.message);
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::string joined_lines(const std::map<std::string, std::string>& lines) {
  std::string text;
  for (const auto& [path, value] : lines) text.append(path).append("=").append(value).append("\n");
  return text;
}

}  // namespace

/// The values of one top-level key, and their digest.
struct ScenarioFamily::Section {
  std::map<std::string, std::string> lines;
  std::string digest;
  bool changed = true;
};

struct ScenarioFamily::KeyValue {
  YamlNode document;
  /// What this value changes where every value of its key is one of `patched`: paths with their
  /// values, nothing for those that go away.
  std::vector<std::pair<std::string, std::optional<FieldValue>>> patches;
  bool patchable = false;
};

/// What the catalogs say about the keys that are not own keys.
struct ScenarioFamily::Machine {
  Job job;
  Diagnostics problems;
  std::string files;  ///< digest of their names and hashes
};

ScenarioFamily::ScenarioFamily(FamilyBase base, std::vector<FamilyKey> keys)
    : base_(std::move(base)), keys_(std::move(keys)) {
  Diagnostics diagnostics;
  ComposedDocument composed =
      compose_scenario(base_.text, base_.name, base_.folder, base_.options, diagnostics);
  diagnostics.throw_if_any();
  root_ = std::move(composed.root);
  for (const SourceFile& file : composed.files) files_read_.insert(file.path);
  read_values();
  check_first();
  if (!patchable_) return;
  for (std::size_t key = 0; key < keys_.size(); ++key)
    if (!is_scalar_field(*scenario_fields().find(keys_[key].path))) diff_group_key(key);
}

ScenarioFamily::~ScenarioFamily() = default;

/// One value of a key; for a scalar key it is checked here, and is all that the setting changes.
ScenarioFamily::KeyValue ScenarioFamily::read_value(std::size_t key, std::size_t value,
                                                    Diagnostics& diagnostics) const {
  const std::string& path = keys_[key].path;
  KeyValue setting;
  auto over =
      parse_override(path + "=" + keys_[key].values[value], 1, scenario_fields(), diagnostics);
  if (!over) return setting;
  setting.document = std::move(*over);
  const Field& field = *scenario_fields().find(path);
  if (!is_scalar_field(field)) return setting;
  const YamlNode& node = innermost(setting.document, path);
  auto parsed = read_scalar(field, node);
  if (!parsed.value) {
    diagnostics.add(node.mark, path, parsed.error);
    return setting;
  }
  parsed.value->field = &field;
  parsed.value->path = path;
  setting.patches.emplace_back(path, std::move(*parsed.value));
  setting.patchable = true;
  return setting;
}

void ScenarioFamily::read_values() {
  Diagnostics found;
  for (std::size_t key = 0; key < keys_.size(); ++key) {
    FORETRAIN_REQUIRE(!keys_[key].values.empty());
    settings_.emplace_back();
    for (std::size_t value = 0; value < keys_[key].values.size(); ++value)
      settings_.back().push_back(read_value(key, value, found));
  }
  Diagnostics diagnostics;
  for (Diagnostic item : found.items()) {
    item.file = "--vary";
    item.line = 0;
    diagnostics.add(std::move(item));
  }
  diagnostics.throw_if_any();
}

std::size_t ScenarioFamily::value_number(std::size_t key, const std::string& value) {
  FORETRAIN_REQUIRE(key < keys_.size());
  std::vector<std::string>& values = keys_[key].values;
  const auto known = std::ranges::find(values, value);
  if (known != values.end()) return static_cast<std::size_t>(known - values.begin());
  values.push_back(value);
  Diagnostics diagnostics;
  KeyValue setting = read_value(key, values.size() - 1, diagnostics);
  if (!diagnostics.empty()) values.pop_back();
  diagnostics.throw_if_any();
  settings_[key].push_back(std::move(setting));
  return values.size() - 1;
}

/// Errors of the first member that have nothing to do with the keys are errors of the scenario.
void ScenarioFamily::check_first() {
  const std::vector<std::size_t> first(keys_.size(), 0);
  Diagnostics diagnostics;
  values_ = read_fields(document(first), scenario_fields(), diagnostics);
  Diagnostics fatal;
  for (const Diagnostic& item : diagnostics.items())
    if (std::ranges::none_of(keys_,
                             [&](const FamilyKey& key) { return lies_under(item.path, key.path); }))
      fatal.add(item);
  fatal.throw_if_any();
  check_purpose(values_, base_.options.purpose, fatal);
  fatal.throw_if_any();
  work_ = work_of(values_);
  patchable_ = diagnostics.empty();
  current_ = first;
  for (const FieldValue& value : values_.all()) set_line(value.path, &value);
  const bool asks_catalogs = std::ranges::any_of(
      keys_, [](const FamilyKey& key) { return !is_own(section_name(key.path)); });
  if (patchable_ && !asks_catalogs) machine_of(values_).problems.throw_if_any();
}

/// A group or list can change several paths: all values must then speak about the same ones.
void ScenarioFamily::diff_group_key(std::size_t key) {
  std::vector<FieldValues> read;
  std::map<std::string, bool> touched;  // path: whether its values differ
  for (std::size_t value = 0; value < keys_[key].values.size(); ++value) {
    YamlNode whole = document(current_, key);
    whole = merge_documents(std::move(whole), settings_[key][value].document, scenario_fields());
    Diagnostics diagnostics;
    read.push_back(read_fields(whole, scenario_fields(), diagnostics));
    // A list has elements that list_size() counts: left to the whole way.
    settings_[key][value].patchable =
        diagnostics.empty() && scenario_fields().find(keys_[key].path)->kind != FieldKind::list;
    for (const FieldValues* side : {&read.front(), &read.back()})
      for (const FieldValue& one : side->all())
        touched[one.path] |= !same_value(read.front().find(one.path), read.back().find(one.path));
  }
  for (std::size_t value = 0; value < read.size(); ++value)
    for (const auto& [path, differs] : touched) {
      if (!differs) continue;
      const FieldValue* found = read[value].find(path);
      settings_[key][value].patches.emplace_back(path,
                                                 found ? std::optional(*found) : std::nullopt);
    }
}

/// The scenario with these values, or without one of the keys.
YamlNode ScenarioFamily::document(const std::vector<std::size_t>& chosen,
                                  std::optional<std::size_t> without) const {
  YamlNode result = root_;
  for (std::size_t key = 0; key < keys_.size(); ++key)
    if (key != without)
      result = merge_documents(std::move(result), settings_[key][chosen[key]].document,
                               scenario_fields());
  return result;
}

void ScenarioFamily::set_line(const std::string& path, const FieldValue* value) {
  if (is_derived(path)) return;
  Section& section = sections_[section_name(path)];
  section.changed = true;
  if (value == nullptr)
    section.lines.erase(path);
  else
    section.lines[path] = value->text;
}

void ScenarioFamily::apply(std::size_t key, std::size_t value) {
  for (const auto& [path, patch] : settings_[key][value].patches) {
    if (patch)
      values_.put(*patch);
    else
      values_.erase(path);
    set_line(path, patch ? &*patch : nullptr);
  }
  current_[key] = value;
}

const ScenarioFamily::Machine& ScenarioFamily::machine_of(const FieldValues& values) {
  std::string asked;
  for (const FieldValue& value : values.all())
    if (!is_own(section_name(value.path))) asked += value.path + "=" + value.text + "\n";
  if (const auto known = machines_.find(asked); known != machines_.end()) return *known->second;
  if (machines_.size() >= most_machines) {
    machines_.clear();
    job_machine_ = nullptr;
  }
  auto machine = std::make_unique<Machine>();
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> books;
  CatalogContext context{base_.options.catalogs,
                         model_folder(values, base_.name, base_.folder),
                         machine->problems,
                         files,
                         books,
                         base_.options.root};
  (void)resolve_catalogs(values, machine->job, context);
  std::ranges::sort(files,
                    [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  std::string lines;
  for (const SourceFile& file : files) files_read_.insert(file.path);
  for (const SourceFile& file : files) lines += file.path + " " + file.sha256 + "\n";
  machine->files = sha256_hex(lines);
  return *(machines_[asked] = std::move(machine));
}

std::string ScenarioFamily::identity_of(const Machine& machine) {
  std::string text = "resolved scenario 1\n";
  for (auto& [name, section] : sections_) {
    if (section.changed) section.digest = sha256_hex(joined_lines(section.lines));
    section.changed = false;
    text.append(name).append(" ").append(section.digest).append("\n");
  }
  text += machine.files + "\nparallel.data=" + std::to_string(job_.parallel.data) +
          "\ncommunication.transport=";
  text += name_of(job_.communication.transport);
  for (const std::string& error : member_.errors) text += "\nerror: " + error;
  return sha256_hex(text);
}

namespace {

/// Points are resolved without reading files again.
void refuse_trace(const FieldValues& values, Diagnostics& diagnostics) {
  const std::string path = "operations.interruptions.trace_file";
  if (values.has(path))
    diagnostics.add(values.where(path), path,
                    "is not read in a sweep; write the trace into the scenario");
}

}  // namespace

void ScenarioFamily::finish(const FieldValues& values, const Machine& machine,
                            Diagnostics& diagnostics) {
  if (job_machine_ != &machine) job_ = machine.job;
  job_machine_ = &machine;
  // A transport of its own changes the machine's network; the next member starts from the
  // catalog's.
  if (values.has("communication.transport")) job_.cluster = machine.job.cluster;
  resolve_own_keys(values, job_, diagnostics);
  if (!values.has("parallel.framework")) job_.parallel.framework = machine.job.parallel.framework;
  refuse_trace(values, diagnostics);
  for (const Diagnostic& item : machine.problems.items()) diagnostics.add(item);
  resolve_together(values, job_, diagnostics);
  member_.errors = messages(diagnostics);
  member_.identity = identity_of(machine);
}

void ScenarioFamily::resolve_patched(const std::vector<std::size_t>& chosen) {
  bool moved = job_machine_ == nullptr;
  for (std::size_t key = 0; key < keys_.size(); ++key) {
    if (chosen[key] == current_[key]) continue;
    moved = moved || !is_own(section_name(keys_[key].path));
    apply(key, chosen[key]);
  }
  Diagnostics diagnostics;
  finish(values_, moved ? machine_of(values_) : *job_machine_, diagnostics);
}

void ScenarioFamily::resolve_whole(const std::vector<std::size_t>& chosen) {
  Diagnostics diagnostics;
  const FieldValues values = read_fields(document(chosen), scenario_fields(), diagnostics);
  std::map<std::string, Section> kept;
  std::swap(kept, sections_);
  for (const FieldValue& value : values.all()) set_line(value.path, &value);
  const Machine& machine = machine_of(values);
  job_machine_ = nullptr;  // the machine is not that of values_
  finish(values, machine, diagnostics);
  job_machine_ = nullptr;
  std::swap(kept, sections_);
}

const FamilyMember& ScenarioFamily::resolve(const std::vector<std::size_t>& chosen) {
  FORETRAIN_REQUIRE(chosen.size() == keys_.size());
  bool patchable = patchable_;
  for (std::size_t key = 0; key < keys_.size(); ++key)
    patchable = patchable && settings_[key][chosen[key]].patchable;
  if (patchable)
    resolve_patched(chosen);
  else
    resolve_whole(chosen);
  return member_;
}

std::string ScenarioFamily::family_identity() {
  std::string text = "family 1\n";
  std::vector<std::size_t> chosen(keys_.size(), 0);
  const auto add = [&] { text += resolve(chosen).identity + "\n"; };
  add();
  for (std::size_t key = 0; key < keys_.size(); ++key) {
    const bool names_files = scenario_fields().find(keys_[key].path)->kind == FieldKind::text;
    for (std::size_t value = 0; value < keys_[key].values.size(); ++value) {
      text += keys_[key].path + "=" + keys_[key].values[value] + "\n";
      chosen[key] = value;
      if (names_files) add();
    }
    chosen[key] = 0;
  }
  return sha256_hex(text);
}

}  // namespace foretrain
