// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/override_tree.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "scenarios/imports/shell/shell_variables.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

constexpr std::size_t most_overrides = 10'000;
constexpr std::ptrdiff_t most_dots = 20;

YamlEntry& entry_of(YamlNode& map, const std::string& key, const Mark& mark) {
  map.kind = YamlNode::Kind::map;
  const auto found =
      std::ranges::find_if(map.entries, [&](const YamlEntry& entry) { return entry.key == key; });
  if (found != map.entries.end()) return *found;
  map.entries.push_back({key, mark, {}});
  return map.entries.back();
}

/// What stands behind the equals sign.
YamlNode value_of(const std::string& text, const Mark& mark) {
  YamlNode value;
  value.mark = mark;
  if (text.empty() || text == "null" || text == "None") return value;
  if (std::string_view("[{\"'").find(text.front()) != std::string_view::npos) {
    Diagnostics unreadable;
    const std::string name = mark.file ? *mark.file : std::string();
    const auto parsed =
        parse_yaml(text, name, YamlLimits{}, unreadable, {mark.line > 0 ? mark.line : 1, 1});
    if (parsed && unreadable.count() == 0) return *parsed;
  }
  value.kind = YamlNode::Kind::scalar;
  value.text = text;
  return value;
}

}  // namespace

bool is_override(std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '+' ||
           c == '~';
  });
}

std::vector<std::string> split_overrides(std::string& text) {
  std::vector<std::string> overrides;
  while (!text.empty() && overrides.size() < most_overrides) {
    const auto end = text.find_last_not_of(" \t\r\n\\");
    if (end == std::string::npos) {
      text.clear();
      break;
    }
    const auto start = text.find_last_of(" \t\r\n", end);
    const std::size_t begin = start == std::string::npos ? 0 : start + 1;
    const std::string word = ShellVariables{}.text(text.substr(begin, end + 1 - begin));
    if (!is_override(word)) break;
    overrides.push_back(word);
    text.resize(begin);
  }
  std::ranges::reverse(overrides);
  return overrides;
}

YamlNode text_node(std::string text, const Mark& mark) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.text = std::move(text);
  node.mark = mark;
  return node;
}

YamlNode empty_map(const Mark& mark) {
  YamlNode root;
  root.kind = YamlNode::Kind::map;
  root.mark = mark;
  return root;
}

void put_value(YamlNode& root, const std::string& path, YamlNode value) {
  YamlNode* node = &root;
  std::size_t at = 0;
  while (at != std::string::npos) {
    const auto dot = path.find('.', at);
    node = &entry_of(*node, path.substr(at, dot - at), value.mark).value;
    at = dot == std::string::npos ? dot : dot + 1;
  }
  *node = std::move(value);
}

void put_override(YamlNode& root, const std::string& word, const Mark& mark) {
  const auto equals = word.find('=');
  const auto start = word.find_first_not_of("+~");
  if (equals == std::string::npos || start == std::string::npos || start >= equals) return;
  const std::string path = word.substr(start, equals - start);
  if (std::ranges::count(path, '.') > most_dots) return;
  put_value(root, path, value_of(word.substr(equals + 1), mark));
}

void merge_tree(YamlNode& root, const YamlNode& over) {
  for (const YamlEntry& entry : over.entries) {
    YamlNode& here = entry_of(root, entry.key, entry.mark).value;
    if (!entry.value.is_map() || entry.value.entries.empty()) {
      here = entry.value;
      continue;
    }
    merge_tree(here, entry.value);
    if (!entry.value.text.empty()) here.text = entry.value.text;  // the name of the whole
  }
}

namespace {

/// The scalar that a text of `${...}` alone stands for: dots before the path lead to the groups
/// around it.
const YamlNode* referred(const std::string& text, const std::vector<const YamlNode*>& groups) {
  if (!text.starts_with("${") || !text.ends_with('}')) return nullptr;
  const std::string_view path = std::string_view(text).substr(2, text.size() - 3);
  const auto up = std::min(path.find_first_not_of('.'), path.size());
  if (up > groups.size()) return nullptr;
  const YamlNode* const from = up == 0 ? groups.front() : groups[groups.size() - up];
  const YamlNode* const found = node_at(*from, path.substr(up));
  const bool short_enough = found != nullptr && found->text.size() <= 100;
  return short_enough && found->is_scalar() ? found : nullptr;
}

/// `${multiply:4, ${.hidden_size}}`, NeMo's products and quotients of two whole numbers.
std::optional<std::string> computed(const std::string& text,
                                    const std::vector<const YamlNode*>& groups) {
  const bool product = text.starts_with("${multiply:");
  const auto colon = text.find(':');
  const auto comma = text.find(',');
  if (!(product || text.starts_with("${divide:")) || comma == std::string::npos)
    return std::nullopt;
  const auto value = [&](std::string word) {
    word.erase(std::remove(word.begin(), word.end(), ' '), word.end());
    const YamlNode* const other = referred(word, groups);
    return parse_number(other == nullptr ? word : other->text).value;
  };
  const auto a = value(text.substr(colon + 1, comma - colon - 1));
  const auto b = value(text.substr(comma + 1, text.size() - comma - 2));
  if (!a || !b || (!product && *b == 0.0)) return std::nullopt;
  const double result = product ? *a * *b : *a / *b;
  if (!(std::abs(result) < 1e12)) return std::nullopt;
  return fmt::format("{:.0f}", result);
}

void resolve(YamlNode& node, std::vector<const YamlNode*>& groups) {
  if (node.is_scalar())
    if (const auto number = computed(node.text, groups)) node.text = *number;
  if (node.is_scalar())
    if (const YamlNode* const other = referred(node.text, groups)) node.text = other->text;
  groups.push_back(&node);
  for (YamlEntry& entry : node.entries) resolve(entry.value, groups);
  groups.pop_back();
}

}  // namespace

void resolve_references(YamlNode& root) {
  constexpr int deepest_reference = 8;
  std::vector<const YamlNode*> groups;
  for (int i = 0; i < deepest_reference; ++i)
    for (YamlEntry& entry : root.entries) {
      groups.assign(1, &root);
      resolve(entry.value, groups);
    }
}

std::optional<YamlNode> take_out(YamlNode& root, std::string_view path) {
  YamlNode* node = &root;
  const auto entry = [&](std::string_view key) {
    return std::ranges::find_if(node->entries,
                                [&](const YamlEntry& other) { return other.key == key; });
  };
  for (auto dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    const auto group = entry(path.substr(0, dot));
    if (group == node->entries.end()) return std::nullopt;
    node = &group->value;
    path.remove_prefix(dot + 1);
  }
  const auto found = entry(path);
  if (found == node->entries.end()) return std::nullopt;
  YamlNode value = std::move(found->value);
  node->entries.erase(found);
  return value;
}

const YamlNode* node_at(const YamlNode& root, std::string_view path) {
  const YamlNode* node = &root;
  while (node != nullptr && !path.empty()) {
    const auto dot = path.find('.');
    node = node->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return node;
}

}  // namespace foretrain
