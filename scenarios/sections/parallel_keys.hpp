// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/inputs/rank_order.hpp"

namespace foretrain {

/// As Megatron-Core writes a rank order: "tp-cp-ep-dp-pp".
[[nodiscard]] inline std::string rank_order_text(const RankOrder& order) {
  std::string text;
  for (const RankAxis axis : order) {
    if (!text.empty()) text += '-';
    text += name_of(axis);
  }
  return text;
}

}  // namespace foretrain
