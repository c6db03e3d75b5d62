// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/internal/no_effect_keys.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "scenarios/fields/shipped_table.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

struct KeyGroup {
  std::vector<std::string> includes;
  KeyTable table;
};
using KeyGroups = std::map<std::string, KeyGroup>;

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

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
        {.path = "groups[].pausing",
         .kind = FieldKind::text_list,
         .help = "Keys that stop training for evaluation where they are on.",
         .example = "[eval_strategy]"},
        {.path = "groups[].paced",
         .kind = FieldKind::text_list,
         .help = "Keys that then say how often, and how large.",
         .example = "[eval_steps]"},
        {.path = "groups[].lengthening",
         .kind = FieldKind::text_list,
         .help = "Keys that count examples, and so decide how long a run is.",
         .example = "[epochs]"}};
    append(fields, refused_fields("refused"));
    fields.push_back(
        {.path = "refused[].group", .help = "Whose they are.", .example = "my", .required = true});
    for (const auto& [why, name] : EnumNames<NoEffect>::names)
      fields.push_back({.path = fmt::format("groups[].{}", name),
                        .kind = FieldKind::text_list,
                        .help = "Keys that change nothing for this reason.",
                        .example = "[a, b.c, d.*]"});
    return FieldTable("Keys of frameworks", std::move(fields));
  }();
  return table;
}

void add_groups(const FieldValues& values, KeyGroups& groups) {
  for (int i = 0; i < values.list_size("groups"); ++i) {
    const std::string path = fmt::format("groups[{}].", i);
    KeyGroup& group = groups[values.text(path + "name")];
    append(group.includes, texts_at(values, path + "includes"));
    append(group.table.approximated, texts_at(values, path + "approximated"));
    append(group.table.pausing, texts_at(values, path + "pausing"));
    append(group.table.paced, texts_at(values, path + "paced"));
    append(group.table.lengthening, texts_at(values, path + "lengthening"));
    for (const auto& [why, name] : EnumNames<NoEffect>::names)
      if (values.has(path + std::string(name)))
        group.table.idle.push_back({why, values.at(path + std::string(name)).texts});
  }
  const std::vector<RefusedKeys> refused = refused_at(values, "refused");
  for (std::size_t i = 0; i < refused.size(); ++i)
    groups[values.text(fmt::format("refused[{}].group", i))].table.refused.push_back(refused[i]);
}

KeyGroups groups_of(const std::vector<FieldValues>& files) {
  KeyGroups groups;
  for (const FieldValues& file : files) add_groups(file, groups);
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
  append(table.pausing, found->second.table.pausing);
  append(table.paced, found->second.table.paced);
  append(table.lengthening, found->second.table.lengthening);
  append(table.refused, found->second.table.refused);
  for (const std::string& other : found->second.includes) add_group(groups, other, done, table);
}

}  // namespace

KeyTable key_table(Framework framework, const std::vector<fs::path>& catalogs,
                   const std::vector<std::string>& groups) {
  static ShippedRows<KeyGroups> shipped({idle_keys_path, own_idle_keys, key_fields}, groups_of);
  const auto rows = shipped.of(catalogs);
  KeyTable table;
  std::vector<std::string> done;
  for (const std::string& group : groups) add_group(*rows, group, done, table);
  add_group(*rows, std::string(name_of(framework)), done, table);
  return table;
}

}  // namespace foretrain
