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
  const YamlNode* map = nullptr;    ///< that the last part of the key stands in
  const YamlNode* value = nullptr;  ///< null: not there
  std::string leaf;
};

Place find(const YamlNode& root, std::string_view key) {
  const YamlNode* map = &root;
  for (std::size_t dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.')) {
    map = map->find(key.substr(0, dot));
    if (map == nullptr || !map->is_map()) return {};
    key.remove_prefix(dot + 1);
  }
  return {map, map->find(key), std::string(key)};
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
  if (place.value != nullptr) {
    if (!place.value->is_scalar() || place.value->quoted) return std::nullopt;
    if (same_value(place.value->text, edit.text)) return text;
    const Mark& mark = place.value->mark;
    const std::size_t at = line_start(text, mark.line) + static_cast<std::size_t>(mark.column) - 1;
    if (text.compare(at, place.value->text.size(), place.value->text) != 0) return std::nullopt;
    return text.replace(at, place.value->text.size(), edit.text);
  }
  if (place.map->entries.empty()) return std::nullopt;
  const YamlEntry& last = place.map->entries.back();
  if (!last.value.is_scalar() || last.value.mark.line != last.mark.line) return std::nullopt;
  const std::size_t start = line_start(text, last.mark.line);
  const std::string indent(static_cast<std::size_t>(last.mark.column) - 1, ' ');
  // In a map within braces the key does not start its line.
  if (text.compare(start, indent.size(), indent) != 0) return std::nullopt;
  const std::size_t end = std::min(text.find('\n', start), text.size());
  return text.insert(end, "\n" + indent + place.leaf + ": " + edit.text);
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
  result += std::string(deviations_key) + ":  # of ln(constant), as `calibrate fit` gives them\n";
  for (const auto& [key, value] : deviations)
    result += "  " + key + ": " + fmt::format("{:.2g}", value) + "\n";
  return result;
}

}  // namespace foretrain
