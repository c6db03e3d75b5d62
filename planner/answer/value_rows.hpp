// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/base/prediction.hpp"
#include "planner/answer/prediction_parts.hpp"
#include "planner/answer/value.hpp"
#include "planner/answer/verdict.hpp"

namespace foretrain {

/// Reads a value, and knows what it is made of.
struct ValueReader : Reader<Value> {
  ValueShape shape{};
};
/// @param get a member, or what takes `const T&` and perhaps an index
template <class T, class Get>
[[nodiscard]] ValueReader read(Get get) {
  if constexpr (std::is_invocable_v<Get, const T&, std::size_t>) {
    using Result = std::remove_cvref_t<std::invoke_result_t<Get, const T&, std::size_t>>;
    return {Reader<Value>::template of<T>(
                [get](const T& from, std::size_t index) { return value_of(get(from, index)); }),
            shape_of<Result>()};
  } else {
    using Result = std::remove_cvref_t<std::invoke_result_t<Get, const T&>>;
    return {Reader<Value>::template of<T>(
                [get](const T& from) { return value_of(std::invoke(get, from)); }),
            shape_of<Result>()};
  }
}

/// One row per value of what an answer is made of: what it is called, measured in, where it comes
/// from and what it means. JSON, its schema, CSV, tables, sweeps, budgets, baselines, comparisons
/// and `explain` read the rows; whoever adds one finds it in all of them.
struct ValueRow {
  std::string path;        ///< of the JSON, "*" for an index: "memory.stages.*.peak_bytes"
  std::string_view label;  ///< the head of its column
  Measure measure = Measure::count;
  ValueReader get{};
  std::string_view meaning{};
  std::string_view formula{};  ///< in words and symbols, or where the equation stands
  /// Paths that it is computed from, separated by blanks: scenario keys, or "@" and a path of the
  /// same JSON.
  std::string inputs{};
  ConstantLayers constants{};
  bool more_is_better = false;
  bool left_out = false;   ///< of the JSON where it is unknown or an empty list
  bool in_tables = false;  ///< that people read, else for programs alone
  bool leads = false;  ///< among the numbers that comparisons and sweeps show unless told otherwise
  bool ranks = false;  ///< the one number by which forecasts of a kind are compared
  Reader<std::optional<Banded>> band_of{};  ///< 10th to 90th percentile; none: it has no band

  [[nodiscard]] bool is_number() const {
    return measure != Measure::text && measure != Measure::flag;
  }
  [[nodiscard]] bool in_list() const { return path.find('*') != std::string::npos; }
};

/// A list whose elements have rows with "*", and how long it is.
struct ValueList {
  std::string path;  ///< "memory.stages"
  Reader<std::size_t> size{};
  bool left_out = false;  ///< of the JSON where it is empty
};

/// Values that are null together where the answer has none of them.
struct ValueGroup {
  std::string path;
  Reader<bool> known{};
};

/// All values of one kind of object, in the order of its JSON.
struct ValueRows {
  std::vector<ValueRow> rows{};
  std::vector<ValueList> lists{};
  std::vector<ValueGroup> groups{};
  std::string title{};  ///< of the schema
  std::string rule{};   ///< of the schema, as JSON: what holds between values

  /// The list that a row belongs to; null pointer: none.
  [[nodiscard]] const ValueList* list_of(const ValueRow& row) const;
  /// How many elements that list has; 1 for a row beside them.
  [[nodiscard]] std::size_t elements(const ValueRow& row, const void* object) const;
  /// The group that a path is in; null pointer: none.
  [[nodiscard]] const ValueGroup* group_of(std::string_view path) const;
};

/// The object as programs read it; with `word` only the rows whose paths begin with it.
/// @pre it is of the kind that the rows describe
[[nodiscard]] Value value_of_rows(const ValueRows& rows, const void* object,
                                  std::string_view word = {});
/// The value at a dotted path of objects, made where it is not there yet; "*" stands for `index`.
[[nodiscard]] Value& value_at(Value& tree, std::string_view path, std::size_t index = 0);

/// What the unit at the end of a path says: "_s", "_bytes", "usd".
[[nodiscard]] Measure measure_by_unit(std::string_view path);

/// Rows of a type, written one by one; `get` is a member or what takes `const T&`.
template <class T>
class ValueTable {
 public:
  ValueTable() = default;
  /// A document: its first values are `schema` and the program's version.
  explicit ValueTable(std::string_view schema, std::string title);

  template <class Get>
  ValueTable& add(std::string path, Get get, std::string_view meaning = {}) {
    using Result = std::remove_cvref_t<std::invoke_result_t<Get, const T&>>;
    return add(ValueRow{std::move(path), {}, measure_of_type<Result>(), read<T>(get), meaning});
  }
  ValueTable& add(ValueRow row) {
    rows_.rows.push_back(std::move(row));
    return *this;
  }

  /// An object of other rows, something optional or a pointer that may be null, or a list of these.
  template <class Get, class Part>
  ValueTable& add(std::string path, Get get, const ValueTable<Part>& parts,
                  std::string_view meaning = {}) {
    using Result = std::remove_cvref_t<std::invoke_result_t<Get, const T&>>;
    const ValueRows* rows = &parts.rows();
    const ValueShape shape{ValueShape::Kind::object,
                           is_part<Part, Result> || is_list<Result> ? 0 : 1, is_list<Result>, false,
                           rows};
    return add(ValueRow{std::move(path),
                        {},
                        Measure::text,
                        ValueReader{Reader<Value>::template of<T>([get, rows](const T& from) {
                                      return of_parts<Part>(std::invoke(get, from), *rows);
                                    }),
                                    shape},
                        meaning});
  }

  /// The rows of another table that are, or are below, `name` (all where it is empty), of what
  /// `part` takes from an object: a reference into it, or a pointer; where that is null, their
  /// values are unknown.
  /// @param under stands before their paths: "rollout."
  /// @pre the other table outlives this one
  template <class Part>
  ValueTable& add_from(const ValueRows& other, std::string_view name, Part part,
                       const std::string& under = {}) {
    const auto inside = [name](std::string_view path) {
      return name.empty() || path == name || (path.starts_with(name) && path[name.size()] == '.');
    };
    for (const ValueRow& row : other.rows)
      if (inside(row.path)) add(row).get_of(row, part, under);
    for (const ValueList& list : other.lists)
      if (inside(list.path))
        rows_.lists.push_back({under + list.path, of_part(list.size, part), list.left_out});
    for (const ValueGroup& each : other.groups)
      if (inside(each.path)) rows_.groups.push_back({under + each.path, of_part(each.known, part)});
    return *this;
  }

  /// The row before is a column that people read, under this head, measured so.
  ValueTable& shown(std::string_view label, std::optional<Measure> measure = {}) {
    rows_.rows.back().label = label;
    rows_.rows.back().in_tables = true;
    if (measure) rows_.rows.back().measure = *measure;
    return *this;
  }
  /// A number that commands know by its path, for people, too; measured as its unit says.
  template <class Get>
  ValueTable& figure(std::string path, std::string_view label, Get get, std::string_view meaning,
                     std::string_view formula) {
    const Measure measure = measure_by_unit(path);
    return add(ValueRow{std::move(path), label, measure, read<T>(get), meaning, formula});
  }
  /// Of the row before.
  template <class Band>
  ValueTable& banded(Band band) {
    rows_.rows.back().band_of = Reader<std::optional<Banded>>::template of<T>(band);
    return *this;
  }
  ValueTable& more_is_better() {
    rows_.rows.back().more_is_better = true;
    return *this;
  }
  ValueTable& leads() {
    rows_.rows.back().leads = true;
    return *this;
  }
  ValueTable& ranks() {
    rows_.rows.back().ranks = true;
    return *this;
  }
  /// The row before measures this.
  ValueTable& as(Measure measure) {
    rows_.rows.back().measure = measure;
    return *this;
  }
  /// The row before is not in the JSON where it is unknown, or a list with nothing in it.
  ValueTable& left_out() {
    rows_.rows.back().left_out = true;
    return *this;
  }
  /// Whatever follows below that path is null together unless `known`.
  template <class Known>
  ValueTable& group(std::string path, Known known) {
    rows_.groups.push_back(
        {std::move(path), Reader<bool>::template of<T>([known](const T& from) -> bool {
           return static_cast<bool>(std::invoke(known, from));
         })});
    return *this;
  }

  void title(std::string text, std::string rule) {
    rows_.title = std::move(text);
    rows_.rule = std::move(rule);
  }

  [[nodiscard]] const ValueRows& rows() const { return rows_; }
  [[nodiscard]] Value of(const T& object) const { return value_of_rows(rows_, &object); }

 private:
  template <class Part, class Result>
  static constexpr bool is_part = std::is_base_of_v<Part, Result>;
  template <class Result>
  static constexpr bool is_list = requires(const Result& result) {
    result.begin();
  };

  template <class Part>
  static constexpr bool is_pointer = std::is_pointer_v<std::invoke_result_t<Part, const T&>>;

  /// A reader of a part, read of what it is a part of. @pre the reader outlives the result
  template <class Result, class Part>
  static Reader<Result> of_part(const Reader<Result>& reader, Part part) {
    return Reader<Result>::template of<T>(
        [inner = &reader, part](const T& from, std::size_t index) -> Result {
          if constexpr (is_pointer<Part>) {
            const auto* object = part(from);
            return object == nullptr ? Result{} : (*inner)(object, index);
          } else {
            return (*inner)(&part(from), index);
          }
        });
  }
  template <class Part>
  void get_of(const ValueRow& row, Part part, const std::string& under) {
    ValueRow& own = rows_.rows.back();
    own.path = under + row.path;
    own.get = {of_part(static_cast<const Reader<Value>&>(row.get), part), row.get.shape};
    if (is_pointer<Part>) own.get.shape.optionals += 2;
    if (row.band_of) own.band_of = of_part(row.band_of, part);
  }

  template <class Part, class Result>
  static Value of_parts(const Result& from, const ValueRows& rows) {
    if constexpr (is_part<Part, Result>) {
      return value_of_rows(rows, static_cast<const Part*>(&from));
    } else if constexpr (is_list<Result>) {
      std::vector<Value> list;
      for (const auto& part : from) list.push_back(of_parts<Part>(part, rows));
      return Value{std::move(list)};
    } else {
      return from ? of_parts<Part>(*from, rows) : Value{};
    }
  }

  ValueRows rows_;
};

/// Why something cannot run, and what its reader should know.
[[nodiscard]] const ValueTable<Infeasible>& reason_values();
[[nodiscard]] const ValueTable<Warning>& warning_values();

namespace internal {
/// The two rows that every document begins with.
[[nodiscard]] ValueRows document_rows(std::string_view schema, std::string title);
}  // namespace internal

template <class T>
ValueTable<T>::ValueTable(std::string_view schema, std::string title)
    : rows_{internal::document_rows(schema, std::move(title))} {}

}  // namespace foretrain
