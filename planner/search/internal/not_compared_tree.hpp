// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "planner/search/not_compared.hpp"

namespace foretrain {

/// [{subject, what}]
[[nodiscard]] inline nlohmann::ordered_json not_compared_tree(
    const std::vector<NotCompared>& list) {
  nlohmann::ordered_json tree = nlohmann::ordered_json::array();
  for (const NotCompared& item : list)
    tree.push_back({{"subject", item.subject}, {"what", item.what}});
  return tree;
}

}  // namespace foretrain
