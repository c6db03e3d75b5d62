// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "models/base/prediction.hpp"
#include "planner/text/palette.hpp"

namespace foretrain {

/// One row per category of memory: JSON, stacks in text, pictures, pages and windows, and `explain`
/// read it.
struct MemoryPart {
  Bytes StageMemory::*size;
  const char* key;  ///< MemoryRow::category; "weights_bytes" in the JSON
  char letter;      ///< where there is no colour
  Paint paint;
  bool counted;  ///< by torch, as allocated
  std::string_view meaning;
  std::string_view formula;
  std::string_view inputs;

  [[nodiscard]] std::string json_key() const { return std::string(key) + "_bytes"; }
};

/// In the order of the stack, from the bottom; they sum to the peak.
[[nodiscard]] std::span<const MemoryPart> memory_parts();

}  // namespace foretrain
