// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/tree_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "scenarios/imports/frameworks/dialect.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

bool lies_under(std::string_view path, std::string_view group) {
  return path == group ||
         (path.size() > group.size() && path.starts_with(group) && path[group.size()] == '.');
}

bool lies_under_any(std::string_view path, const std::vector<std::string>& groups) {
  return std::ranges::any_of(groups,
                             [&](const std::string& group) { return lies_under(path, group); });
}

/// Whether a declared key is that of a path: "group.*" is everything under a group.
bool declares(std::string_view key, std::string_view path) {
  return key.ends_with(".*") ? lies_under(path, key.substr(0, key.size() - 2)) : key == path;
}

bool declared(std::string_view path, const std::vector<std::string>& keys) {
  return std::ranges::any_of(keys, [&](const std::string& key) { return declares(key, path); });
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

/// Words that switch a key off.
bool is_off(const YamlNode& node) {
  static const std::vector<std::string> words{"-1", "never"};
  return is_off(node, words);
}

/// The first row that has a key.
const RefusedKeys* row_of(std::string_view path, const KeyTable& table) {
  for (const RefusedKeys& row : table.refused)
    if (declared(path, row.keys)) return &row;
  return nullptr;
}

}  // namespace

TreeReader::TreeReader(const YamlNode& root, Diagnostics& diagnostics,
                       std::vector<std::string> left_out)
    : root_{root}, diagnostics_{diagnostics}, left_out_{std::move(left_out)} {
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
  if (node == nullptr || lies_under_any(path, left_out_)) return nullptr;
  taken_.emplace(path);
  return node->is_null() ? nullptr : node;
}

const YamlNode* TreeReader::take_first(const std::vector<std::string_view>& paths) {
  const YamlNode* found = nullptr;
  for (const std::string_view path : paths) {
    const YamlNode* node = take(path);
    if (found == nullptr)
      found = node;
    else if (node != nullptr)
      require_same(path, *found, *node);
  }
  return found;
}

/// Two names of one thing: dropping either would be a guess.
void TreeReader::require_same(std::string_view path, const YamlNode& first, const YamlNode& other) {
  if (!first.is_scalar() || !other.is_scalar()) return;
  const auto a = number_of(first.text);
  const auto b = number_of(other.text);
  const bool same = a && b ? *a == *b : lower_case(first.text) == lower_case(other.text);
  if (!same)
    diagnostics_.add(
        other.mark, path,
        fmt::format("is {} here and {} at {}, under another of its names", in_quotes(other.text),
                    in_quotes(first.text), first.mark.origin()));
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

void TreeReader::require(const std::vector<std::string_view>& paths, const char* meaning) {
  const bool there = std::ranges::any_of(paths, [&](std::string_view path) {
    const YamlNode* node = find(path);
    return node != nullptr && !node->is_null();
  });
  if (!there)
    diagnostics_.add(root_.mark, paths.front(), fmt::format("is missing; it is {}", meaning));
}

int TreeReader::required(const std::vector<std::string_view>& paths, int least, int most,
                         const char* meaning) {
  require(paths, meaning);
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
  return lower_case(node->text);
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
  const KeyTable table =
      framework_ ? key_table(*framework_, options.catalogs, groups_) : KeyTable{};
  for (const NoEffectKeys& group : table.idle)
    harmless_.insert(harmless_.end(), group.keys.begin(), group.keys.end());
  approximated_.insert(approximated_.end(), table.approximated.begin(), table.approximated.end());
  const bool pauses = std::ranges::any_of(leaves_, [&](const Leaf& leaf) {
    return declared(leaf.path, table.pausing) && !is_off(*leaf.node);
  });
  std::vector<std::string> known(asked_.begin(), asked_.end());
  for (const std::vector<std::string>* keys :
       std::initializer_list<const std::vector<std::string>*>{
           &harmless_, &approximated_, &table.pausing, &table.paced, &table.lengthening})
    known.insert(known.end(), keys->begin(), keys->end());
  for (std::string& key : known)
    if (key.ends_with(".*")) key.resize(key.size() - 2);
  for (const Leaf& leaf : leaves_) {
    const std::string path = printable_path(leaf.path);
    const bool taken = std::ranges::any_of(
        taken_, [&](const std::string& other) { return lies_under(leaf.path, other); });
    if (lies_under_any(leaf.path, options.left_out)) {
      notes.assumed.push_back(path + " was left out as asked for");
    } else if (taken) {
      notes.read.push_back(path);
    } else if (declared(leaf.path, approximated_)) {
      notes.approximated.push_back(path);
    } else if (declared(leaf.path, table.pausing) || declared(leaf.path, table.paced)) {
      (pauses && !is_off(*leaf.node) ? notes.evaluation : notes.ignored).push_back(path);
    } else if (declared(leaf.path, table.lengthening) && !is_off(*leaf.node)) {
      notes.lengths.push_back(path);
    } else if (declared(leaf.path, harmless_) || declared(leaf.path, table.lengthening) ||
               leaf.node->is_null() || leaf.node->is_map()) {
      // A leaf that is a map is an empty one.
      notes.ignored.push_back(path);
    } else if (const RefusedKeys* row = row_of(leaf.path, table)) {
      if (is_off(*leaf.node, row->off))
        notes.ignored.push_back(path);
      else
        diagnostics_.add(leaf.node->mark, path,
                         fmt::format("asks for what is not modelled: {}; --leave-out {} ignores it",
                                     row->missing, path));
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
