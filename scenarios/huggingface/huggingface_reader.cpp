// SPDX-License-Identifier: Apache-2.0
#include "scenarios/huggingface/internal/huggingface_reader.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "scenarios/yaml/units_text.hpp"

namespace foretrain::huggingface {

const YamlNode* Reader::take(const std::vector<std::string_view>& keys) {
  const YamlNode* found = nullptr;
  for (const std::string_view key : keys) {
    const YamlNode* node = map_.find(key);
    if (node == nullptr) continue;
    used_.insert(std::string(key));
    if (found == nullptr && !node->is_null()) found = node;
  }
  return found;
}

int Reader::number(const std::string& path, const std::vector<std::string_view>& keys,
                   const Legal& legal) {
  const auto& [least, most, otherwise, rule] = legal;
  const YamlNode* node = take(keys);
  if (node == nullptr) {
    if (!otherwise) {
      diagnostics_.add(map_.mark, std::string(keys.front()), "is missing");
      return least;
    }
    if (!rule.empty()) record(path, std::to_string(*otherwise), rule);
    return *otherwise;
  }
  const Parsed<double> parsed = parse_number(node->text);
  const bool whole = node->is_scalar() && !node->quoted && parsed.value &&
                     *parsed.value == std::trunc(*parsed.value);
  if (!whole || *parsed.value < least || *parsed.value > most) {
    diagnostics_.add(node->mark, std::string(keys.front()),
                     fmt::format("must be a whole number from {} to {:.0f}, not {}", least, most,
                                 in_quotes(node->text)));
    return least;
  }
  const int value = static_cast<int>(*parsed.value);
  record(path, std::to_string(value), node->mark.origin());
  return value;
}

double Reader::amount(const std::string& path, const std::vector<std::string_view>& keys,
                      double least) {
  const YamlNode* node = take(keys);
  if (node == nullptr) return 0.0;
  const Parsed<double> parsed = parse_number(node->text);
  if (!node->is_scalar() || !parsed.value || *parsed.value < least || *parsed.value > 1e12) {
    diagnostics_.add(node->mark, std::string(keys.front()),
                     fmt::format("must be a number from {}, not {}", least, in_quotes(node->text)));
    return 0.0;
  }
  record(path, node->text, node->mark.origin());
  return *parsed.value;
}

bool Reader::truth(const std::string& path, const std::vector<std::string_view>& keys,
                   bool otherwise, const std::string& rule) {
  const YamlNode* node = take(keys);
  if (node == nullptr) {
    if (otherwise) record(path, "true", rule);
    return otherwise;
  }
  if (!node->is_scalar() || (node->text != "true" && node->text != "false")) {
    diagnostics_.add(node->mark, std::string(keys.front()),
                     "must be true or false, not " + in_quotes(node->text));
    return otherwise;
  }
  record(path, node->text, node->mark.origin());
  return node->text == "true";
}

void Reader::record(const std::string& path, const std::string& value, const std::string& origin) {
  if (!path.empty()) model_.values.push_back({path, value, origin});
}

void Reader::assume(std::string sentence) { model_.assumed.push_back(std::move(sentence)); }

void Reader::refuse(const YamlNode& node, std::string_view key, std::string why) {
  diagnostics_.add(node.mark, key, std::move(why));
}

void Reader::refuse(std::string_view key, std::string why) {
  diagnostics_.add(map_.mark, key, std::move(why));
}

void Reader::finish() {
  for (const YamlEntry& entry : map_.entries) {
    if (used_.count(entry.key) > 0) continue;
    const bool known = huggingface::without_effect(entry.key);
    (known ? model_.ignored : model_.unknown).push_back(printable_key(entry.key));
  }
}

}  // namespace foretrain::huggingface
