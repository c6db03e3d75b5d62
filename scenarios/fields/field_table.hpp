// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/names.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {

enum class FieldKind {
  text,
  integer,
  number,
  boolean,
  choice,       ///< one of `choices`
  choice_list,  ///< a sequence of `choices`
  quantity,     ///< number with a unit of `dimension`
  integer_list,
  text_list,  ///< a sequence of texts; a lone text counts as a sequence of one
  group,      ///< a map of the fields whose path starts with this path and a dot
  list,       ///< a sequence of groups; its fields have paths starting with `path[].`
  tree,       ///< any YAML, kept unchecked (limits still hold)
};

class FieldTable;

/// One key of a file format: what the reader checks, and what the JSON Schema and the reference
/// page print. Use designated initialisers.
struct Field {
  std::string path{};  ///< dotted, e.g. "cluster.fabric.kind" or "budget[].metric"
  FieldKind kind = FieldKind::text;
  std::string help{};          ///< one line: what it means, not its name again
  std::string example{};       ///< as a user would write it
  bool required = false;       ///< within its group; an absent optional group asks nothing
  std::string default_text{};  ///< as a user would write it; empty: absent stays absent
  Dimension dimension = Dimension::none;
  std::vector<std::string> choices{};
  std::optional<double> min{};  ///< in base units
  std::optional<double> max{};
  bool above_min = false;  ///< min itself is not legal
  bool or_number = false;  ///< of a text: a number, or one with a unit that another key decides
  /// A group that may also be written as a scalar, which then sets this child.
  std::string scalar_child{};
  /// A text that names an entry may also be written as the entry itself, a map of this table's
  /// keys; the reader keeps it as a tree, and whoever asks for the entry checks it.
  const FieldTable& (*entry)() = nullptr;
  /// Of a required group: another group of the same map may stand in its place.
  std::string unless{};
  /// Of a group: where it is left out, the defaults below it mean nothing and are absent.
  bool only_written = false;
  bool own =
      false;  ///< of a catalog file: says something of it alone, and no other is `like` it there
};

/// All keys of one file format, in the order of the reference page. Every group that a path goes
/// through has its own entry, before its children.
class FieldTable {
 public:
  /// @pre paths are unique and their groups listed; choices exactly for kind choice; defaults
  /// parse.
  FieldTable(std::string title, std::vector<Field> fields);

  [[nodiscard]] const std::string& title() const { return title_; }
  [[nodiscard]] const std::vector<Field>& fields() const { return fields_; }
  /// Null pointer when there is no such key. List indices match "[]".
  [[nodiscard]] const Field* find(std::string_view path) const;
  /// Direct children of a group ("" is the root; "budget[]" an element of a list), in table order.
  [[nodiscard]] const std::vector<const Field*>& children(std::string_view group) const;
  /// Last segments of children(group).
  [[nodiscard]] std::vector<std::string> child_names(std::string_view group) const;

  FieldTable(const FieldTable&) = delete;
  FieldTable& operator=(const FieldTable&) = delete;

 private:
  std::string title_;
  std::vector<Field> fields_;
  std::map<std::string, const Field*, std::less<>> by_path_;
  std::map<std::string, std::vector<const Field*>, std::less<>> children_;
};

/// "budget[3].max" -> "budget[].max".
[[nodiscard]] std::string table_path(std::string_view path);
/// Last segment of a path: "cluster.host" -> "host".
[[nodiscard]] std::string_view leaf_name(std::string_view path);
/// Joins a group and a key; the root group is "".
[[nodiscard]] std::string child_path(std::string_view group, std::string_view key);

/// The key `schema`: version of a file format that has had one so far.
[[nodiscard]] inline Field schema_field() {
  return {.path = "schema",
          .kind = FieldKind::integer,
          .help = "Version of this file format.",
          .example = "1",
          .required = true,
          .min = 1,
          .max = 1};
}

/// User-facing names of an enumeration, for Field::choices.
template <class E>
[[nodiscard]] std::vector<std::string> choices_of() {
  std::vector<std::string> result;
  for (const auto name : all_names<E>()) result.emplace_back(name);
  return result;
}

}  // namespace foretrain
