// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "scenarios/fields/field_reader.hpp"
#include "scenarios/fields/field_table.hpp"
#include "scenarios/fields/key_slot.hpp"

namespace foretrain {

/// When files that we write say a key.
enum class WhenWritten {
  never,
  where_unusual,  ///< where the value is not that of a default-made owner
  always,         ///< wherever it has a text
};

/// A list as rows of keys see it: a std::vector of elements.
struct ListOps {
  void* (*add)(void* list);  ///< a default-made element at its end
  void (*drop)(void* list);  ///< the last one
  std::size_t (*size)(const void* list);
  const void* (*at)(const void* list, std::size_t index);
  /// What no single key of an element says. Null: nothing.
  void (*finish)(void* element, const FieldValues&, const std::string& path);
};

/// A key of a file with the member that holds its value: the one row that the reader, the checks,
/// the writer, the JSON Schema, the reference page, completion and fits use. Plain data.
struct KeyRow {
  Field field;
  KeySlot slot{};
  WhenWritten written = WhenWritten::never;
  bool (*only_where)(const void* owner) = nullptr;  ///< null: written of any owner
  const ListOps* list = nullptr;   ///< of a list of groups, which the slot leads to
  std::vector<KeyRow> elements{};  ///< their keys, of one element
  bool fitted = false;             ///< a constant that fits may move

  /// Whether files set it by themselves; groups and lists follow from their keys.
  [[nodiscard]] bool is_set() const { return slot.ops != nullptr && slot.ops->assign != nullptr; }
  /// Sets the value in an owner. @pre is_set()
  void set(void* owner, const FieldValue& value) const {
    slot.ops->assign(slot.make(owner), value);
  }
};
using KeyRows = std::vector<KeyRow>;

/// What a file says of the owner under this key; of a group "{key: value, ...}" of its keys, which
/// are among `rows`. Empty where it is left out.
[[nodiscard]] std::string key_text(const KeyRow& row, const KeyRows& rows, const void* owner);
/// The keys of all parts, in order.
[[nodiscard]] KeyRows joined_rows(std::vector<KeyRows> parts);

/// A file format, or a section of one, as rows: groups stand before their keys.
class RowTable {
 public:
  RowTable(std::string title, KeyRows rows, const void* owner);

  [[nodiscard]] const FieldTable& fields() const { return fields_; }
  [[nodiscard]] const KeyRows& rows() const { return rows_; }
  /// Null pointer when there is no such key.
  [[nodiscard]] const KeyRow* find(std::string_view path) const;
  /// Whether a value, given or default, means anything in this file: the part that has it exists.
  [[nodiscard]] bool applies(const FieldValues& values, const FieldValue& value) const;

 protected:
  void fill_owner(const FieldValues& values, void* owner) const;
  [[nodiscard]] std::string owner_text(const void* owner) const;

 private:
  KeyRows rows_;
  FieldTable fields_;
};

/// The same with the struct that files or sections become.
template <class T>
class BoundTable : public RowTable {
 public:
  /// @pre rows are of members of T
  BoundTable(std::string title, KeyRows rows)
      : RowTable(std::move(title), std::move(rows), &default_made<T>()) {}

  /// Members of keys that are absent or refused stay as they are.
  void fill(const FieldValues& values, T& target) const { fill_owner(values, &target); }
  [[nodiscard]] T read(const FieldValues& values) const {
    T target{};
    fill(values, target);
    return target;
  }
  /// Of the section whose rows these are: what differs from T{}, groups in it on one line; empty
  /// where nothing does.
  [[nodiscard]] std::string text(const T& value) const { return owner_text(&value); }
};

/// How rows are written down.
namespace keys {

/// A row without a member: a group, or what its reader looks up by itself.
[[nodiscard]] KeyRow unbound(Field field);
[[nodiscard]] KeyRow group(std::string path, std::string help);
/// A row of that slot: its type says what the field leaves open.
[[nodiscard]] KeyRow bound(Field field, const KeySlot& slot);
/// The same, with what a default-made owner has as the documented default.
[[nodiscard]] KeyRow documented(KeyRow row);
/// A row that is written even where it is the default; that is documented, but where files must
/// say the key.
[[nodiscard]] KeyRow always_written(KeyRow row);
/// A constant of a profile, not below zero, with its default as the example.
[[nodiscard]] KeyRow constant_row(KeyRow row);
/// The row of a list and those of its elements' keys. @pre these are bound to `element`, a
/// default_made()
[[nodiscard]] KeyRows list_rows(Field field, KeyRows elements, const KeySlot& slot,
                                const ListOps& ops, const void* element);
/// A constant that fits may move. @pre a real number
[[nodiscard]] KeyRow fitted(KeyRow row);

/// A key of the member at the end of a path (slot_of()). It is written where the member is not as
/// in a default-made owner.
template <class V, class T, class... Rest>
KeyRow bind(Field field, V T::*member, Rest... rest) {
  return bound(std::move(field), slot_of<T>(member, rest...));
}

/// The same of a key whose default means something by itself and is documented.
template <class V, class T, class... Rest>
KeyRow with_default(Field field, V T::*member, Rest... rest) {
  return documented(bind(std::move(field), member, rest...));
}

/// A key that files say even where it is the default, or that has none.
template <class V, class T, class... Rest>
KeyRow always(Field field, V T::*member, Rest... rest) {
  return always_written(bind(std::move(field), member, rest...));
}

/// A constant that keeps the default of its struct when the file does not give it.
template <class V, class T, class... Rest>
KeyRow constant(std::string path, std::string help, V T::*member, Rest... rest) {
  return constant_row(bind({.path = std::move(path), .help = std::move(help)}, member, rest...));
}

/// A key that is written only of what `applies` to.
template <class T, bool (*applies)(const T&)>
KeyRow only_where(KeyRow row) {
  row.only_where = [](const void* owner) { return applies(*static_cast<const T*>(owner)); };
  return row;
}

template <class T, auto read, auto text>
constexpr ValueOps make_computed_ops() {
  ValueOps ops;
  if constexpr (!std::is_null_pointer_v<decltype(read)>)
    ops.assign = [](void* owner, const FieldValue& value) { read(*static_cast<T*>(owner), value); };
  if constexpr (!std::is_null_pointer_v<decltype(text)>)
    ops.text = [](const void* owner, const Field&) { return text(*static_cast<const T*>(owner)); };
  return ops;
}
template <class T, auto read, auto text>
inline constexpr ValueOps computed_ops = make_computed_ops<T, read, text>();

/// A key that is no single member: how files set it, and what they say of it (empty: the key is
/// left out). Either may be null: never.
/// @tparam read void (*)(T&, const FieldValue&)
/// @tparam text std::string (*)(const T&)
template <class T, auto read, auto text>
KeyRow computed(Field field) {
  KeyRow row{std::move(field), {.owner = &default_made<T>(), .ops = &computed_ops<T, read, text>}};
  if (row.slot.ops->text != nullptr) row.written = WhenWritten::always;
  return row;
}

template <class E, auto finish>
inline constexpr ListOps list_ops{
    [](void* list) -> void* { return &static_cast<std::vector<E>*>(list)->emplace_back(); },
    [](void* list) { static_cast<std::vector<E>*>(list)->pop_back(); },
    [](const void* list) { return static_cast<const std::vector<E>*>(list)->size(); },
    [](const void* list, std::size_t index) -> const void* {
      return &(*static_cast<const std::vector<E>*>(list))[index];
    },
    [](void* element, const FieldValues& values, const std::string& path) {
      if constexpr (!std::is_null_pointer_v<decltype(finish)>)
        finish(*static_cast<E*>(element), values, path);
    }};

/// A list of groups in a std::vector: its own row, which reads and writes all elements, and the
/// rows of their keys.
/// @param elements bound to an element; paths begin with that of the list and "[]."
/// @tparam finish what no single key says: void (*)(E&, const FieldValues&, const std::string&)
template <auto finish = nullptr, class V, class T, class... Rest>
KeyRows list_of(std::string path, std::string help, KeyRows elements, V T::*member, Rest... rest) {
  const auto [slot, list] = key_slot::slot_and_value<T>(member, rest...);
  using E = typename std::remove_cvref_t<decltype(*list)>::value_type;
  return list_rows({.path = std::move(path), .kind = FieldKind::list, .help = std::move(help)},
                   std::move(elements), slot, list_ops<E, finish>, &default_made<E>());
}

}  // namespace keys
}  // namespace foretrain
