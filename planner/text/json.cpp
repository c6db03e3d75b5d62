// SPDX-License-Identifier: Apache-2.0
#include "planner/text/json.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>

namespace foretrain {
namespace {

void collect_leaves(const Json& node, const std::string& path, std::vector<std::string>& found) {
  if (!node.is_structured()) {
    found.push_back(path);
    return;
  }
  std::size_t at = 0;
  for (auto item = node.begin(); item != node.end(); ++item, ++at) {
    const std::string key = node.is_object() ? item.key() : std::to_string(at);
    collect_leaves(*item, path.empty() ? key : fmt::format("{}.{}", path, key), found);
  }
}

}  // namespace

Json number_or_null(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  constexpr double exact = 9007199254740992.0;  // 2^53
  if (std::abs(*value) < exact && *value == std::trunc(*value))
    return static_cast<std::int64_t>(*value);
  return *value;
}

const Json* find_path(const Json& tree, std::string_view path) {
  const Json* node = &tree;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view key = path.substr(0, dot);
    if (node->is_object()) {
      const auto found = node->find(std::string(key));
      if (found == node->end()) return nullptr;
      node = &*found;
    } else if (node->is_array()) {
      std::size_t at = 0;
      const auto read = std::from_chars(key.data(), key.data() + key.size(), at);
      if (read.ec != std::errc{} || read.ptr != key.data() + key.size() || at >= node->size())
        return nullptr;
      node = &(*node)[at];
    } else {
      return nullptr;
    }
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  return node;
}

std::vector<std::string> leaf_paths(const Json& tree) {
  std::vector<std::string> result;
  collect_leaves(tree, "", result);
  return result;
}

std::string dump(const Json& tree) {
  return tree.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace foretrain
