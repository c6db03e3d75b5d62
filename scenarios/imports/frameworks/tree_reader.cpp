// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/tree_reader.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

bool lies_under(std::string_view path, std::string_view group) {
  return path == group ||
         (path.size() > group.size() && path.starts_with(group) && path[group.size()] == '.');
}

bool lies_under_any(std::string_view path, const std::vector<std::string>& groups) {
  return std::any_of(groups.begin(), groups.end(),
                     [&](const std::string& group) { return lies_under(path, group); });
}

/// Numbers of JSON, YAML and TOML: also 1e-5 and 1_000, which scenarios do not take.
std::optional<double> number_of(const std::string& text) {
  std::string digits;
  for (const char c : text)
    if (c != '_') digits += c;
  if (digits.starts_with('+')) digits.erase(0, 1);
  const auto parsed = parse_number(digits);
  return parsed.value;
}

}  // namespace

TreeReader::TreeReader(const YamlNode& root, Diagnostics& diagnostics)
    : root_{root}, diagnostics_{diagnostics} {
  add_leaves(root, "");
}

void TreeReader::add_leaves(const YamlNode& node, const std::string& path) {
  if (!node.is_map() || node.entries.empty()) {
    if (!path.empty()) leaves_.push_back({path, &node});
    return;
  }
  for (const YamlEntry& entry : node.entries)
    add_leaves(entry.value, path.empty() ? entry.key : path + "." + entry.key);
}

const YamlNode* TreeReader::find(std::string_view path) const {
  const YamlNode* node = &root_;
  while (node != nullptr && !path.empty()) {
    const auto dot = path.find('.');
    node = node->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return node;
}

const YamlNode* TreeReader::take(std::string_view path) {
  asked_.emplace(path);
  const YamlNode* node = find(path);
  if (node == nullptr) return nullptr;
  taken_.emplace(path);
  return node->is_null() ? nullptr : node;
}

const YamlNode* TreeReader::take_first(const std::vector<std::string_view>& paths) {
  const YamlNode* found = nullptr;
  for (const std::string_view path : paths) {
    const YamlNode* node = take(path);
    if (found == nullptr) found = node;
  }
  return found;
}

std::optional<int> TreeReader::integer(const std::vector<std::string_view>& paths, int least,
                                       int most) {
  const YamlNode* node = take_first(paths);
  if (node == nullptr) return std::nullopt;
  const auto value = node->is_scalar() && !node->quoted ? number_of(node->text) : std::nullopt;
  if (!value || *value != std::floor(*value) || *value < least || *value > most) {
    diagnostics_.add(node->mark, paths.front(),
                     fmt::format("must be a whole number from {} to {}, not {}", least, most,
                                 node->is_scalar() ? in_quotes(node->text) : "a group or a list"));
    return std::nullopt;
  }
  return static_cast<int>(*value);
}

int TreeReader::required(const std::vector<std::string_view>& paths, int least, int most,
                         const char* meaning) {
  const bool there = std::any_of(paths.begin(), paths.end(), [&](std::string_view path) {
    const YamlNode* node = find(path);
    return node != nullptr && !node->is_null();
  });
  if (!there)
    diagnostics_.add(root_.mark, paths.front(), fmt::format("is missing; it is {}", meaning));
  return integer(paths, least, most).value_or(least);
}

std::optional<double> TreeReader::number(const std::vector<std::string_view>& paths) {
  const YamlNode* node = take_first(paths);
  if (node == nullptr) return std::nullopt;
  const auto value = node->is_scalar() ? number_of(node->text) : std::nullopt;
  if (!value) {
    diagnostics_.add(node->mark, paths.front(),
                     "must be a number, not " +
                         (node->is_scalar() ? in_quotes(node->text) : "a group or a list"));
  }
  return value;
}

bool TreeReader::truth(const std::vector<std::string_view>& paths, bool otherwise) {
  const YamlNode* node = take_first(paths);
  if (node == nullptr) return otherwise;
  if (node->text == "true" || node->text == "True") return true;
  if (node->text == "false" || node->text == "False") return false;
  diagnostics_.add(node->mark, paths.front(),
                   "must be true or false, not " + in_quotes(node->text));
  return otherwise;
}

std::string TreeReader::text(const std::vector<std::string_view>& paths,
                             const std::string& otherwise) {
  const YamlNode* node = take_first(paths);
  if (node == nullptr) return otherwise;
  std::string result = node->text;
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

void TreeReader::harmless(const std::vector<std::string_view>& paths) {
  harmless_.insert(harmless_.end(), paths.begin(), paths.end());
}

void TreeReader::approximate(const std::vector<std::string_view>& paths) {
  approximated_.insert(approximated_.end(), paths.begin(), paths.end());
}

void TreeReader::refuse(std::string_view path, std::string message) {
  const YamlNode* node = find(path);
  diagnostics_.add(node == nullptr ? root_.mark : node->mark, path, std::move(message));
}

void TreeReader::finish(const PlanImportOptions& options, PlanNotes& notes) {
  std::vector<std::string> known(asked_.begin(), asked_.end());
  known.insert(known.end(), harmless_.begin(), harmless_.end());
  for (const Leaf& leaf : leaves_) {
    const std::string path = printable_path(leaf.path);
    const bool taken = std::any_of(taken_.begin(), taken_.end(), [&](const std::string& other) {
      return lies_under(leaf.path, other);
    });
    if (lies_under_any(leaf.path, options.left_out)) {
      notes.assumed.push_back(path + " was left out as asked for");
    } else if (taken) {
      notes.read.push_back(path);
    } else if (lies_under_any(leaf.path, approximated_)) {
      notes.approximated.push_back(path);
    } else if (lies_under_any(leaf.path, harmless_) || leaf.node->is_null()) {
      notes.ignored.push_back(path);
    } else if (options.leave_out_unknown) {
      notes.unknown.push_back(path);
    } else {
      diagnostics_.add(leaf.node->mark, path,
                       "is not known here, so it may change memory or time" +
                           nearest_hint(leaf.path, known) + "; --leave-out " + path +
                           " ignores it, --leave-out-unknown all such keys");
    }
  }
}

}  // namespace foretrain
