// SPDX-License-Identifier: Apache-2.0
// Values of a record by key; absent where the key is, or is null, or holds something else.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/records/record_keys.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain::record_values {

[[nodiscard]] inline std::string text_of(const YamlNode* node) {
  return node != nullptr && node->is_scalar() ? node->text : std::string();
}

[[nodiscard]] inline std::string text_of(const YamlNode& map, const char* key) {
  return text_of(map.find(key));
}

template <class Number>
[[nodiscard]] std::optional<Number> number_of(const YamlNode* node) {
  if (node == nullptr || !node->is_scalar()) return std::nullopt;
  Number value{};
  const char* const end = node->text.data() + node->text.size();
  const auto [rest, failure] = std::from_chars(node->text.data(), end, value);
  if (failure != std::errc() || rest != end) return std::nullopt;
  return value;
}

[[nodiscard]] inline std::optional<int> integer_of(const YamlNode& map, const char* key) {
  return number_of<int>(map.find(key));
}

[[nodiscard]] inline std::optional<double> double_of(const YamlNode& map, const char* key) {
  return number_of<double>(map.find(key));
}

[[nodiscard]] inline std::optional<bool> bool_of(const YamlNode& map, const char* key) {
  const std::string text = text_of(map, key);
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

/// A record, made by `read`; one without an id, and a key that no record has, is a diagnostic.
template <class Record, class Read>
[[nodiscard]] std::optional<Record> record_of(const YamlNode& node, Read read,
                                              Diagnostics& diagnostics) {
  check_record_keys(node, diagnostics);
  Record record = read(node);
  if (!record.id.empty()) return record;
  diagnostics.add(node.mark, "runs", "a run without an id");
  return std::nullopt;
}

/// The list under `runs`.
template <class Record, class Read>
[[nodiscard]] std::vector<Record> records_of(const YamlNode& document, const std::string& name,
                                             Read read, Diagnostics& diagnostics) {
  std::vector<Record> records;
  const YamlNode* const runs = document.find("runs");
  if (runs == nullptr || !runs->is_sequence()) {
    diagnostics.add(Diagnostic{name, 0, 0, "runs", "a list of measured runs is missing"});
    return records;
  }
  for (const YamlNode& node : runs->items)
    if (auto record = record_of<Record>(node, read, diagnostics))
      records.push_back(std::move(*record));
  return records;
}

}  // namespace foretrain::record_values
