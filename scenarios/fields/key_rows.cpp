// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fields/key_rows.hpp"

#include <iterator>

namespace foretrain {
namespace {

/// The group of a key; empty for one at the root.
std::string_view group_of(std::string_view path) {
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::vector<Field> fields_of(const KeyRows& rows) {
  std::vector<Field> fields;
  for (const KeyRow& row : rows) fields.push_back(row.field);
  return fields;
}

void check_owner(const KeyRows& rows, const void* owner) {
  for (const KeyRow& row : rows)
    FORETRAIN_REQUIRE(row.slot.owner == nullptr || row.slot.owner == owner);
}

/// Adds "key: value" to the parts of a flow map.
void add_part(std::string& parts, const KeyRow& row, const std::string& text) {
  if (text.empty()) return;
  parts += (parts.empty() ? "" : ", ") + std::string(leaf_name(row.field.path)) + ": " + text;
}

std::string list_text(const KeyRow& row, const void* list) {
  std::string text;
  for (std::size_t i = 0; i < row.list->size(list); ++i) {
    std::string parts;
    for (const KeyRow& key : row.elements)
      add_part(parts, key, key_text(key, {}, row.list->at(list, i)));
    text += (text.empty() ? "[{" : ", {") + parts + "}";
  }
  return text.empty() ? text : text + "]";
}

std::string group_text(const KeyRow& group, const KeyRows& rows, const void* owner) {
  std::string parts;
  for (const KeyRow& row : rows)
    if (group_of(row.field.path) == group.field.path)
      add_part(parts, row, key_text(row, rows, owner));
  return parts.empty() ? parts : "{" + parts + "}";
}

/// @return whether it has all that it needs; what is absent or refused is reported elsewhere
bool read_element(const KeyRow& list, const FieldValues& values, const std::string& path,
                  void* element) {
  for (const KeyRow& row : list.elements) {
    const FieldValue* const value = values.find(child_path(path, leaf_name(row.field.path)));
    if (value == nullptr && row.field.required) return false;
    if (value != nullptr && row.is_set()) row.set(element, *value);
  }
  list.list->finish(element, values, path);
  return true;
}

void read_list(const KeyRow& row, const FieldValues& values, void* list) {
  for (int i = 0; i < values.list_size(row.field.path); ++i) {
    const std::string path = row.field.path + "[" + std::to_string(i) + "]";
    if (!read_element(row, values, path, row.list->add(list))) row.list->drop(list);
  }
}

/// Whether the part of the owner that has the member exists: its group is written.
bool has_part(const KeyRow& row, const FieldValues& values) {
  return row.slot.step == nullptr || values.has_group(group_of(row.field.path));
}

}  // namespace

void* KeySlot::make(void* target) const {
  void* const at = static_cast<std::byte*>(target) + offset;
  return step == nullptr ? at : static_cast<std::byte*>(step->make(at, entry)) + inner;
}

const void* KeySlot::find(const void* target) const {
  const void* const at = static_cast<const std::byte*>(target) + offset;
  if (step == nullptr) return at;
  const void* const part = step->find(at, entry);
  return part == nullptr ? nullptr : static_cast<const std::byte*>(part) + inner;
}

void* KeySlot::find(void* target) const {
  return const_cast<void*>(find(static_cast<const void*>(target)));  // the target's own
}

std::string key_text(const KeyRow& row, const KeyRows& rows, const void* owner) {
  if (row.field.kind == FieldKind::group) return group_text(row, rows, owner);
  if (row.written == WhenWritten::never || (row.only_where != nullptr && !row.only_where(owner)))
    return {};
  const void* const value = row.slot.find(owner);
  if (value == nullptr) return {};
  if (row.list != nullptr) return list_text(row, value);
  const ValueOps& ops = *row.slot.ops;
  const bool usual = row.written == WhenWritten::where_unusual && ops.same(value, row.slot.usual);
  return usual ? std::string() : ops.text(value, row.field);
}

KeyRows joined_rows(std::vector<KeyRows> parts) {
  KeyRows all;
  for (KeyRows& part : parts)
    all.insert(all.end(), std::make_move_iterator(part.begin()),
               std::make_move_iterator(part.end()));
  return all;
}

RowTable::RowTable(std::string title, KeyRows rows, const void* owner)
    : rows_{std::move(rows)}, fields_{std::move(title), fields_of(rows_)} {
  check_owner(rows_, owner);
}

const KeyRow* RowTable::find(std::string_view path) const {
  const Field* const field = fields_.find(path);
  return field == nullptr ? nullptr
                          : &rows_[static_cast<std::size_t>(field - fields_.fields().data())];
}

bool RowTable::applies(const FieldValues& values, const FieldValue& value) const {
  const KeyRow* const row = find(value.field->path);
  return row == nullptr || has_part(*row, values);
}

void RowTable::fill_owner(const FieldValues& values, void* owner) const {
  for (const KeyRow& row : rows_) {
    if (row.list != nullptr) read_list(row, values, row.slot.make(owner));
    if (!row.is_set() || !has_part(row, values)) continue;
    if (const FieldValue* const value = values.find(row.field.path)) row.set(owner, *value);
  }
}

std::string RowTable::owner_text(const void* owner) const {
  const KeyRow& section = rows_.front();
  const std::string& name = section.field.path;
  if (section.list != nullptr) {
    const std::string elements = key_text(section, rows_, owner);
    return elements.empty() ? elements : name + ": " + elements + "\n";
  }
  std::string lines;
  for (const KeyRow& row : rows_) {
    if (group_of(row.field.path) != name) continue;
    if (const std::string said = key_text(row, rows_, owner); !said.empty())
      lines += "  " + std::string(leaf_name(row.field.path)) + ": " + said + "\n";
  }
  return lines.empty() ? lines : name + ":\n" + lines;
}

namespace keys {

KeyRow unbound(Field field) { return {std::move(field)}; }

KeyRow group(std::string path, std::string help) {
  return {{.path = std::move(path), .kind = FieldKind::group, .help = std::move(help)}};
}

KeyRow bound(Field field, const KeySlot& slot) {
  const ValueOps& ops = *slot.ops;
  if (field.kind == FieldKind::text) {
    field.kind = ops.kind;
    if (ops.choices != nullptr) field.choices = ops.choices();
    if (ops.dimension != Dimension::none) field.dimension = ops.dimension;
  }
  return {std::move(field), slot, WhenWritten::where_unusual};
}

KeyRow documented(KeyRow row) {
  row.field.default_text = row.slot.ops->text(row.slot.usual, row.field);
  return row;
}

KeyRow always_written(KeyRow row) {
  row.written = WhenWritten::always;
  return row.field.required ? row : documented(std::move(row));
}

KeyRow constant_row(KeyRow row) {
  if (row.field.kind != FieldKind::boolean) row.field.min = 0.0;
  row = documented(std::move(row));
  row.field.example = row.field.default_text;
  return row;
}

KeyRow fitted(KeyRow row) {
  FORETRAIN_REQUIRE(row.slot.ops->number != nullptr);
  row.fitted = true;
  return row;
}

KeyRows list_rows(Field field, KeyRows elements, const KeySlot& slot, const ListOps& ops,
                  const void* element) {
  check_owner(elements, element);
  KeyRows rows{{std::move(field), slot, WhenWritten::always}};
  for (const KeyRow& key : elements) rows.push_back({key.field});
  rows.front().list = &ops;
  rows.front().elements = std::move(elements);
  return rows;
}

}  // namespace keys
}  // namespace foretrain
