// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/require.hpp"
#include "scenarios/fields/field_table.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// What an entry that is written out without a name is called.
inline constexpr const char* unnamed_entry = "unnamed";

/// One checked value. Which member holds it follows from the kind of the field.
struct FieldValue {
  const Field* field = nullptr;
  std::string path;     ///< with list indices, e.g. "budget[0].max"
  std::string text;     ///< as written, or the default's text; lists as "[1, 2]"
  double number = 0.0;  ///< number, integer, quantity (base units)
  bool boolean = false;
  std::vector<int> integers;       ///< integer_list
  std::vector<std::string> texts;  ///< text_list, choice_list
  YamlNode node;                   ///< tree, or an entry that is written out
  Mark mark;                       ///< of the value; line 0 for a default
  bool is_default = false;

  /// "scenario.yaml:17", "--set" or "default".
  [[nodiscard]] std::string origin() const;
};

/// The values of one file: those that were given and legal, and the defaults of absent keys. A key
/// whose value was refused is absent here, so ask has() before acting on a file with errors.
class FieldValues {
 public:
  [[nodiscard]] bool has(std::string_view path) const { return find(path) != nullptr; }
  /// Null pointer when absent.
  [[nodiscard]] const FieldValue* find(std::string_view path) const;
  /// @pre has(path) for the accessors below.
  [[nodiscard]] const FieldValue& at(std::string_view path) const;
  [[nodiscard]] const std::string& text(std::string_view path) const { return at(path).text; }
  [[nodiscard]] double number(std::string_view path) const { return at(path).number; }
  [[nodiscard]] int integer(std::string_view path) const;
  [[nodiscard]] bool boolean(std::string_view path) const { return at(path).boolean; }
  /// A quantity of models/base/quantity.hpp, e.g. quantity<Seconds>("latency").
  template <class Q>
  [[nodiscard]] Q quantity(std::string_view path) const {
    return Q{number(path)};
  }
  template <class Q>
  [[nodiscard]] std::optional<Q> optional_quantity(std::string_view path) const {
    const FieldValue* value = find(path);
    return value ? std::optional<Q>{Q{value->number}} : std::nullopt;
  }
  [[nodiscard]] std::optional<double> optional_number(std::string_view path) const;
  template <class E>
  [[nodiscard]] E choice(std::string_view path) const {
    const auto value = from_name<E>(text(path));
    FORETRAIN_REQUIRE(value.has_value());
    return *value;
  }
  /// Whether the group itself was written in the file.
  [[nodiscard]] bool has_group(std::string_view path) const;
  /// Whether a value was written but not legal, and is absent for that reason.
  [[nodiscard]] bool was_refused(std::string_view path) const;
  /// Elements of a list of groups; 0 when absent.
  [[nodiscard]] int list_size(std::string_view path) const;
  /// Where to report a cross check on `path`: the value, else the innermost group that was
  /// written, else the root.
  [[nodiscard]] Mark where(std::string_view path) const;

  /// In table order, then values that put() added; list elements in file order.
  [[nodiscard]] const std::vector<FieldValue>& all() const { return values_; }

  /// Gives a path another value, or its first one, and with it the groups that it is in. For
  /// variants of a file that was read.
  void put(FieldValue value);
  /// Takes the value of a path away, if it has one.
  void erase(std::string_view path);

 private:
  friend class FieldReader;
  std::vector<FieldValue> values_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::map<std::string, Mark, std::less<>> groups_;  ///< groups and lists that were written
  std::map<std::string, int, std::less<>> list_sizes_;
  std::set<std::string, std::less<>> refused_;
};

/// Whether required keys are due. In a partial document part of it could not be read, and the
/// missing keys may stand there.
enum class Document { whole, partial };

/// Checks a document against a table and reports every error in one go: unknown keys (with the
/// nearest and the legal ones), wrong types, missing keys, numbers, units, ranges, choices.
[[nodiscard]] FieldValues read_fields(const YamlNode& root, const FieldTable& table,
                                      Diagnostics& diagnostics,
                                      Document document = Document::whole);

}  // namespace foretrain
