// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "models/base/prediction.hpp"
#include "planner/text/palette.hpp"

namespace foretrain {

/// How a category of memory looks in a stack: a letter where there is no colour, a coloured block
/// or area with it.
struct MemoryLook {
  const char* key;  ///< MemoryRow::category
  const char* name;
  char letter;
  Paint paint;
  Bytes StageMemory::*size;
};

inline constexpr std::array<MemoryLook, 8> memory_looks{
    {{"weights", "weights", 'W', palette::blue, &StageMemory::weights},
     {"gradients", "gradients", 'G', palette::purple, &StageMemory::gradients},
     {"optimizer", "optimizer", 'O', palette::green, &StageMemory::optimizer},
     {"activations", "activations", 'A', palette::orange, &StageMemory::activations},
     {"buffers", "buffers", 'B', palette::yellow, &StageMemory::buffers},
     {"communication", "communication", 'C', palette::sky, &StageMemory::communication},
     {"context", "context", 'X', palette::grey, &StageMemory::context},
     {"fragmentation", "fragmentation", 'F', palette::vermilion, &StageMemory::fragmentation}}};

}  // namespace foretrain
