// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/internal/no_effect_keys.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/fields/field_reader.hpp"
#include "scenarios/fields/field_table.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

struct KeyGroup {
  std::vector<std::string> includes;
  KeyTable table;
};
using KeyGroups = std::map<std::string, KeyGroup>;
/// Files with the time when each was written.
using DatedFiles = std::vector<std::pair<fs::path, fs::file_time_type>>;

const FieldTable& key_fields() {
  static const FieldTable table = [] {
    std::vector<Field> fields{
        schema_field(),
        {.path = "groups", .kind = FieldKind::list, .help = "A framework, or what several share."},
        {.path = "groups[].name", .help = "As in import NAME.", .example = "my", .required = true},
        {.path = "groups[].includes",
         .kind = FieldKind::text_list,
         .help = "Groups whose keys it has as well.",
         .example = "[trainer]"},
        {.path = "groups[].approximated",
         .kind = FieldKind::text_list,
         .help = "Keys that change memory or time a little.",
         .example = "[e]"},
        {.path = "refused", .kind = FieldKind::list, .help = "Keys that matter where they are on."},
        {.path = "refused[].group", .help = "Whose they are.", .example = "my", .required = true},
        {.path = "refused[].keys",
         .kind = FieldKind::text_list,
         .help = "Their paths.",
         .example = "[a.b]",
         .required = true},
        {.path = "refused[].off",
         .kind = FieldKind::text_list,
         .help = "Further values that change nothing.",
         .example = "[auto]"},
        {.path = "refused[].missing",
         .help = "What no scenario has.",
         .example = "a second model",
         .required = true}};
    for (const auto& [why, name] : EnumNames<NoEffect>::names)
      fields.push_back({.path = fmt::format("groups[].{}", name),
                        .kind = FieldKind::text_list,
                        .help = "Keys that change nothing for this reason.",
                        .example = "[a, b.c, d.*]"});
    return FieldTable("Keys of frameworks", std::move(fields));
  }();
  return table;
}

std::vector<std::string> texts_at(const FieldValues& values, const std::string& path) {
  return values.has(path) ? values.at(path).texts : std::vector<std::string>{};
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

void add_groups(const FieldValues& values, KeyGroups& groups) {
  for (int i = 0; i < values.list_size("groups"); ++i) {
    const std::string path = fmt::format("groups[{}].", i);
    KeyGroup& group = groups[values.text(path + "name")];
    append(group.includes, texts_at(values, path + "includes"));
    append(group.table.approximated, texts_at(values, path + "approximated"));
    for (const auto& [why, name] : EnumNames<NoEffect>::names)
      if (values.has(path + std::string(name)))
        group.table.idle.push_back({why, values.at(path + std::string(name)).texts});
  }
  for (int i = 0; i < values.list_size("refused"); ++i) {
    const std::string path = fmt::format("refused[{}].", i);
    groups[values.text(path + "group")].table.refused.push_back({values.at(path + "keys").texts,
                                                                 texts_at(values, path + "off"),
                                                                 values.text(path + "missing")});
  }
}

DatedFiles key_files(const std::vector<fs::path>& catalogs) {
  DatedFiles files;
  Diagnostics diagnostics;
  for (const fs::path& root : catalog_roots(catalogs, diagnostics))
    for (const char* place : {idle_keys_path, own_idle_keys}) {
      std::error_code failed;
      const fs::path file = root / place;
      if (fs::is_regular_file(file, failed))
        files.emplace_back(file, fs::last_write_time(file, failed));
    }
  diagnostics.throw_if_any();
  return files;
}

KeyGroups read_groups(const DatedFiles& files) {
  KeyGroups groups;
  Diagnostics diagnostics;
  for (const auto& [file, written] : files) {
    const std::string name = file.string();
    const auto text = read_text_file(file, name, YamlLimits{}.file_bytes, diagnostics);
    diagnostics.throw_if_any();
    const auto tree = parse_yaml(*text, name, YamlLimits{}, diagnostics);
    diagnostics.throw_if_any();
    const FieldValues values = read_fields(*tree, key_fields(), diagnostics);
    diagnostics.throw_if_any();
    add_groups(values, groups);
  }
  return groups;
}

/// Adds a group and those that it includes, each once.
void add_group(const KeyGroups& groups, const std::string& name, std::vector<std::string>& done,
               KeyTable& table) {
  const auto found = groups.find(name);
  if (found == groups.end() || std::count(done.begin(), done.end(), name) > 0) return;
  done.push_back(name);
  append(table.idle, found->second.table.idle);
  append(table.approximated, found->second.table.approximated);
  append(table.refused, found->second.table.refused);
  for (const std::string& other : found->second.includes) add_group(groups, other, done, table);
}

}  // namespace

KeyTable key_table(Framework framework, const std::vector<fs::path>& catalogs,
                   const std::vector<std::string>& groups) {
  static std::mutex mutex;
  static std::pair<DatedFiles, KeyGroups> last;
  const DatedFiles files = key_files(catalogs);
  const std::lock_guard lock(mutex);
  if (last.first != files) last = {files, read_groups(files)};
  KeyTable table;
  std::vector<std::string> done;
  for (const std::string& group : groups) add_group(last.second, group, done, table);
  add_group(last.second, std::string(name_of(framework)), done, table);
  return table;
}

}  // namespace foretrain
