// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fields/field_reader.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "scenarios/fields/field_scalar.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {

/// One pass over a document and its table.
class FieldReader {
 public:
  FieldReader(const FieldTable& table, Diagnostics& diagnostics, Document document)
      : table_(table), diagnostics_(diagnostics), document_(document) {}

  FieldValues read(const YamlNode& root) {
    values_.groups_.emplace("", root.mark);
    if (root.is_map() || root.is_null())
      read_group(root, "");
    else
      diagnostics_.add(root.mark, {},
                       fmt::format("the file must hold keys and values; keys: {}",
                                   joined(table_.child_names(""))));
    return std::move(values_);
  }

 private:
  void read_group(const YamlNode& node, const std::string& path) {
    for (const YamlEntry& entry : node.entries)
      if (!table_.find(child_path(path, entry.key)) || leaf_name(entry.key) != entry.key)
        report_unknown(entry, path);
    for (const Field* field : table_.children(path)) {
      const std::string here = child_path(path, leaf_name(field->path));
      if (const YamlNode* value = node.find(leaf_name(field->path)))
        read_field(*field, *value, here);
      else
        read_absent(*field, here, node.mark,
                    field->unless.empty() || node.find(field->unless) == nullptr);
    }
  }

  void report_unknown(const YamlEntry& entry, const std::string& group) {
    const auto names = table_.child_names(group);
    std::string message = "unknown key";
    if (entry.key.find('.') != std::string::npos && table_.find(entry.key)) {
      message += "; keys are nested in a file, the dotted form is for --set.";
    } else if (const auto name = nearest(entry.key, names)) {
      message += "; did you mean " + in_quotes(*name) + "?";
    } else {
      for (const Field& field : table_.fields()) {
        if (leaf_name(field.path) != entry.key) continue;
        message += "; did you mean " + in_quotes(field.path) + "?";
        break;
      }
    }
    message += fmt::format("{} Keys {}: {}", message.back() == 'y' ? "." : "",
                           group.empty() ? "of the file" : "of " + group, joined(names));
    diagnostics_.add(entry.mark, child_path(group, printable_key(entry.key)), std::move(message));
  }

  void read_field(const Field& field, const YamlNode& node, const std::string& path) {
    if (node.refused) {
      values_.refused_.insert(path);
      return;
    }
    switch (field.kind) {
      case FieldKind::group:
        read_group_field(field, node, path);
        return;
      case FieldKind::list:
        read_list(field, node, path);
        return;
      case FieldKind::integer_list:
      case FieldKind::choice_list:
      case FieldKind::text_list:
        read_sequence(field, node, path);
        return;
      case FieldKind::tree: {
        FieldValue value;
        value.node = node;
        value.mark = node.mark;
        value.text = node.text;
        store(field, std::move(value), path);
        return;
      }
      default:
        if (field.entry != nullptr && node.is_map())
          store_entry(field, node, path);
        else
          read_value(field, node, path);
    }
  }

  /// The text of an entry that is written out is its name.
  void store_entry(const Field& field, const YamlNode& node, const std::string& path) {
    FieldValue value;
    value.node = node;
    value.mark = node.mark;
    const YamlNode* name = node.find("name");
    value.text = name != nullptr && name->is_scalar() ? name->text : unnamed_entry;
    store(field, std::move(value), path);
  }

  void read_value(const Field& field, const YamlNode& node, const std::string& path) {
    auto parsed = read_scalar(field, node);
    if (parsed.value)
      store(field, std::move(*parsed.value), path);
    else
      refuse(node.mark, path, parsed.error);
  }

  void read_group_field(const Field& field, const YamlNode& node, const std::string& path) {
    values_.groups_.emplace(path, node.mark);
    if (node.is_map() || node.is_null()) {
      read_group(node, path);
      return;
    }
    const Field* child =
        field.scalar_child.empty() ? nullptr : table_.find(path + "." + field.scalar_child);
    const bool short_form = child && node.is_scalar();
    if (short_form)
      read_value(*child, node, path + "." + field.scalar_child);
    else
      diagnostics_.add(node.mark, path,
                       fmt::format("must be a group of keys, not {}; keys: {}", kind_name(node),
                                   joined(table_.child_names(path))));
    for (const Field* other : table_.children(path))
      if (other != child)
        read_absent(*other, child_path(path, leaf_name(other->path)), node.mark, short_form);
  }

  void read_list(const Field& field, const YamlNode& node, const std::string& path) {
    values_.groups_.emplace(path, node.mark);
    if (!node.is_sequence() && !node.is_null()) {
      diagnostics_.add(node.mark, path, wrong_type(field, node));
      return;
    }
    values_.list_sizes_.emplace(path, static_cast<int>(node.items.size()));
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const std::string element = fmt::format("{}[{}]", path, i);
      const YamlNode& item = node.items[i];
      values_.groups_.emplace(element, item.mark);
      if (item.refused) continue;
      if (item.is_map())
        read_group(item, element);
      else
        diagnostics_.add(item.mark, element,
                         fmt::format("must be a group of keys, not {}; keys: {}", kind_name(item),
                                     joined(table_.child_names(element))));
    }
  }

  static FieldKind element_kind(FieldKind kind) {
    if (kind == FieldKind::choice_list) return FieldKind::choice;
    return kind == FieldKind::text_list ? FieldKind::text : FieldKind::integer;
  }

  void read_sequence(const Field& field, const YamlNode& node, const std::string& path) {
    const bool lone_text = field.kind == FieldKind::text_list && node.is_scalar();
    if (!node.is_sequence() && !lone_text) {
      refuse(node.mark, path, wrong_type(field, node));
      return;
    }
    FieldValue value;
    value.mark = node.mark;
    const std::vector<YamlNode> lone = lone_text ? std::vector{node} : std::vector<YamlNode>{};
    const auto& items = lone_text ? lone : node.items;
    Field element = field;
    element.kind = element_kind(field.kind);
    bool legal = true;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto parsed = read_scalar(element, items[i]);
      if (!parsed.value) {
        diagnostics_.add(items[i].mark, fmt::format("{}[{}]", path, i), parsed.error);
        legal = false;
        continue;
      }
      if (element.kind == FieldKind::integer)
        value.integers.push_back(static_cast<int>(parsed.value->number));
      else
        value.texts.push_back(items[i].text);
      value.text += (i == 0 ? "[" : ", ") + items[i].text;
    }
    value.text += items.empty() ? "[]" : "]";
    if (legal)
      store(field, std::move(value), path);
    else
      values_.refused_.insert(path);
  }

  /// `present`: the enclosing group was written, so its required keys are due.
  void read_absent(const Field& field, const std::string& path, const Mark& group_mark,
                   bool present) {
    if (field.required && present && document_ == Document::whole)
      diagnostics_.add(group_mark, path,
                       field.example.empty()
                           ? "required key is missing"
                           : "required key is missing; write for example " + example_of(field));
    if (field.kind == FieldKind::group) {
      if (field.only_written) return;
      for (const Field* child : table_.children(path))
        read_absent(*child, child_path(path, leaf_name(child->path)), group_mark, false);
      return;
    }
    if (field.default_text.empty()) return;
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.text = field.default_text;
    auto parsed = read_scalar(field, node);
    FORETRAIN_REQUIRE(parsed.value.has_value());
    parsed.value->is_default = true;
    store(field, std::move(*parsed.value), path);
  }

  static std::string example_of(const Field& field) {
    return fmt::format("{}: {}", leaf_name(field.path), field.example);
  }

  void refuse(const Mark& mark, const std::string& path, std::string message) {
    diagnostics_.add(mark, path, std::move(message));
    values_.refused_.insert(path);
  }

  void store(const Field& field, FieldValue value, const std::string& path) {
    value.field = &field;
    value.path = path;
    values_.index_.emplace(path, values_.values_.size());
    values_.values_.push_back(std::move(value));
  }

  const FieldTable& table_;
  Diagnostics& diagnostics_;
  Document document_;
  FieldValues values_;
};

FieldValues read_fields(const YamlNode& root, const FieldTable& table, Diagnostics& diagnostics,
                        Document document) {
  return FieldReader(table, diagnostics, document).read(root);
}

std::string FieldValue::origin() const { return is_default ? "default" : mark.origin(); }

const FieldValue* FieldValues::find(std::string_view path) const {
  const auto found = index_.find(path);
  return found == index_.end() ? nullptr : &values_[found->second];
}

const FieldValue& FieldValues::at(std::string_view path) const {
  const FieldValue* value = find(path);
  FORETRAIN_REQUIRE(value != nullptr);
  return *value;
}

int FieldValues::integer(std::string_view path) const {
  const double value = number(path);
  FORETRAIN_REQUIRE(value == std::floor(value) &&
                    std::abs(value) <= std::numeric_limits<int>::max());
  return static_cast<int>(value);
}

std::optional<double> FieldValues::optional_number(std::string_view path) const {
  const FieldValue* value = find(path);
  return value ? std::optional<double>{value->number} : std::nullopt;
}

void FieldValues::put(FieldValue value) {
  for (auto dot = value.path.find('.'); dot != std::string::npos;
       dot = value.path.find('.', dot + 1))
    groups_.emplace(value.path.substr(0, dot), value.mark);
  const auto [found, is_new] = index_.emplace(value.path, values_.size());
  if (is_new)
    values_.push_back(std::move(value));
  else
    values_[found->second] = std::move(value);
}

void FieldValues::erase(std::string_view path) {
  const auto found = index_.find(path);
  if (found == index_.end()) return;
  const std::size_t gone = found->second;
  values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(gone));
  index_.erase(found);
  for (auto& [other, place] : index_)
    if (place > gone) --place;
}

bool FieldValues::has_group(std::string_view path) const {
  return groups_.find(path) != groups_.end();
}

bool FieldValues::was_refused(std::string_view path) const {
  return refused_.find(path) != refused_.end();
}

int FieldValues::list_size(std::string_view path) const {
  const auto found = list_sizes_.find(path);
  return found == list_sizes_.end() ? 0 : found->second;
}

Mark FieldValues::where(std::string_view path) const {
  if (const FieldValue* value = find(path); value && !value->is_default) return value->mark;
  while (true) {
    const auto found = groups_.find(path);
    if (found != groups_.end()) return found->second;
    if (path.empty()) return {};
    const auto dot = path.rfind('.');
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
  }
}

}  // namespace foretrain
