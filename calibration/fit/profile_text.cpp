// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/profile_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/units_text.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {
namespace {

constexpr std::string_view deviations_key = "deviations";

/// Where a 1-based line starts in the text.
std::size_t line_start(std::string_view text, int line) {
  std::size_t at = 0;
  for (int i = 1; i < line; ++i) at = text.find('\n', at) + 1;
  return at;
}

struct Place {
  const YamlNode* map = nullptr;    ///< the innermost that is there; null: something else is
  const YamlNode* value = nullptr;  ///< null: not there
  std::vector<std::string> rest;    ///< names below `map`, the last one the key's own
};

Place find(const YamlNode& root, std::string_view key) {
  Place place{&root, nullptr, {}};
  while (!key.empty()) {
    const std::size_t dot = key.find('.');
    const std::string_view name = key.substr(0, dot);
    key.remove_prefix(dot == std::string_view::npos ? key.size() : dot + 1);
    const YamlNode* const next = place.rest.empty() ? place.map->find(name) : nullptr;
    if (next != nullptr && key.empty()) place.value = next;
    if (next != nullptr && !key.empty()) {
      if (!next->is_map()) return {};
      place.map = next;
    } else {
      place.rest.emplace_back(name);
    }
  }
  return place;
}

/// Where the block of lines ends whose last key is at `last`, comments and blanks behind it aside.
std::size_t block_end(std::string_view text, const Mark& last) {
  std::size_t end = std::min(text.find('\n', line_start(text, last.line)), text.size());
  for (std::size_t at = end; at < text.size();) {
    const std::size_t next = std::min(text.find('\n', at + 1), text.size());
    const std::string_view line = text.substr(at + 1, next - at - 1);
    const std::size_t indent = line.find_first_not_of(' ');
    const bool empty = indent == std::string_view::npos || line[indent] == '#';
    if (!empty && indent < static_cast<std::size_t>(last.column)) break;
    if (!empty) end = next;
    at = next;
  }
  return end;
}

std::size_t offset_of(std::string_view text, const Mark& mark) {
  return line_start(text, mark.line) + static_cast<std::size_t>(mark.column) - 1;
}

/// The text with a key, and the maps around it that are missing, added at the end of a map.
std::optional<std::string> added(std::string text, const YamlNode& root, const Place& place,
                                 const std::string& value) {
  if (place.map->entries.empty()) return std::nullopt;
  const YamlEntry& last = place.map->entries.back();
  const std::size_t start = offset_of(text, last.mark);
  const std::size_t line = line_start(text, last.mark.line);
  const std::size_t indent = start - line;
  if (text.find_first_not_of(' ', line) != start) {  // within braces
    if (!last.value.is_scalar() || last.value.quoted) return std::nullopt;
    std::string entry = ", ";
    for (const std::string& name : place.rest)
      entry.append(name).append(&name == &place.rest.back() ? ": " + value : ": {");
    entry += std::string(place.rest.size() - 1, '}');
    return text.insert(offset_of(text, last.value.mark) + last.value.text.size(), entry);
  }
  std::string entry;
  for (std::size_t i = 0; i < place.rest.size(); ++i)
    entry += std::string(indent + 2 * i, ' ') + place.rest[i] + ":" +
             (i + 1 == place.rest.size() ? " " + value : "\n");
  if (place.map == &root && last.key == deviations_key) return text.insert(line, entry + "\n");
  return text.insert(block_end(text, last.mark), "\n" + entry);
}

/// Whether both spell the same number, of whatever dimension.
bool same_value(std::string_view one, std::string_view other) {
  if (one == other) return true;
  for (const Dimension dimension : {Dimension::none, Dimension::time, Dimension::bandwidth,
                                    Dimension::flop_rate, Dimension::bytes}) {
    const auto parse = [&](std::string_view text) {
      return dimension == Dimension::none ? parse_number(text) : parse_quantity(text, dimension);
    };
    const auto a = parse(one);
    const auto b = parse(other);
    if (a.value && b.value) return *a.value == *b.value;
  }
  return false;
}

std::optional<std::string> edited(std::string text, const ProfileEdit& edit) {
  Diagnostics diagnostics;
  const auto root = parse_yaml(text, "profile", YamlLimits{}, diagnostics);
  if (!root || !diagnostics.empty()) return std::nullopt;
  const Place place = find(*root, edit.key);
  if (place.map == nullptr) return std::nullopt;
  if (place.value == nullptr) return added(std::move(text), *root, place, edit.text);
  if (!place.value->is_scalar() || place.value->quoted) return std::nullopt;
  if (same_value(place.value->text, edit.text)) return text;
  const std::size_t at = offset_of(text, place.value->mark);
  if (text.compare(at, place.value->text.size(), place.value->text) != 0) return std::nullopt;
  return text.replace(at, place.value->text.size(), edit.text);
}

std::string deviation_text(double deviation) { return fmt::format("{:.2g}", deviation); }

void flatten(const YamlNode& node, const std::string& path, SaidValues& said) {
  for (const YamlEntry& entry : node.entries) {
    const std::string key = child_path(path, entry.key);
    if (entry.value.is_map() && key != deviations_key) flatten(entry.value, key, said);
    if (entry.value.is_scalar()) said[key].text = entry.value.text;
  }
}

}  // namespace

std::optional<std::string> edit_profile(const std::string& text,
                                        const std::vector<ProfileEdit>& edits) {
  std::optional<std::string> result = text;
  for (const ProfileEdit& edit : edits) {
    result = edited(std::move(*result), edit);
    if (!result) return std::nullopt;
  }
  return result;
}

std::optional<std::string> profile_scalar(const std::string& text, const std::string& key) {
  Diagnostics diagnostics;
  const auto root = parse_yaml(text, "profile", YamlLimits{}, diagnostics);
  if (!root || !diagnostics.empty()) return std::nullopt;
  const Place place = find(*root, key);
  if (place.value == nullptr || !place.value->is_scalar()) return std::nullopt;
  return place.value->text;
}

std::map<std::string, double> profile_deviations(const std::string& text) {
  Diagnostics diagnostics;
  const auto root = parse_yaml(text, "profile", YamlLimits{}, diagnostics);
  std::map<std::string, double> deviations;
  if (!root) return deviations;
  const YamlNode* const map = root->find(deviations_key);
  if (map == nullptr || !map->is_map()) return deviations;
  for (const YamlEntry& entry : map->entries)
    if (const auto parsed = parse_number(entry.value.text); parsed.value)
      deviations[entry.key] = *parsed.value;
  return deviations;
}

std::optional<std::string> with_deviations(const std::string& text,
                                           const std::map<std::string, double>& deviations) {
  Diagnostics diagnostics;
  const auto root = parse_yaml(text, "profile", YamlLimits{}, diagnostics);
  if (!root || !diagnostics.empty() || !root->is_map() || root->entries.empty())
    return std::nullopt;
  std::string result = text;
  if (const YamlEntry& last = root->entries.back(); last.key == deviations_key)
    result.erase(line_start(text, last.mark.line));
  else if (root->find(deviations_key) != nullptr)
    return std::nullopt;
  if (deviations.empty()) return result;
  result += std::string(deviations_key) + ":  # of ln(constant), as `calibrate fit` gives them\n";
  for (const auto& [key, value] : deviations)
    result += "  " + key + ": " + deviation_text(value) + "\n";
  return result;
}

SaidValues said_values(const std::string& text, const FieldTable& table,
                       const SaidValues& relative) {
  Diagnostics diagnostics;
  const auto root = parse_yaml(text, "profile", YamlLimits{}, diagnostics);
  SaidValues own;
  if (root) flatten(*root, "", own);
  const std::map<std::string, double> deviations = profile_deviations(text);
  for (auto& [key, value] : own)
    if (const auto stated = deviations.find(key); stated != deviations.end())
      value.deviation = stated->second;
  for (const auto& [key, value] : relative) {
    const Field* const field = table.find(key.substr(0, key.find('.')));
    if (field == nullptr || !field->own) own.emplace(key, value);
  }
  return own;
}

std::optional<std::string> with_fitted(const std::string& text, const std::vector<FitEdit>& edits) {
  std::vector<ProfileEdit> scalars;
  std::map<std::string, double> deviations;
  for (const auto& [edit, deviation] : edits) {
    scalars.push_back(edit);
    if (deviation > 0.0) deviations[edit.key] = deviation;
  }
  const auto edited = edit_profile(text, scalars);
  return edited ? with_deviations(*edited, deviations) : std::nullopt;
}

}  // namespace foretrain
