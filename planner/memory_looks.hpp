// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "models/prediction.hpp"

namespace foretrain {

/// How a category of memory looks in a stack: a letter where there is no colour, a coloured block
/// or area with it.
struct MemoryLook {
  const char* key;  ///< MemoryRow::category
  const char* name;
  char letter;
  const char* color;  ///< ANSI 256-colour number
  const char* paint;  ///< of pictures, on a light background
  Bytes StageMemory::*size;
};

inline constexpr std::array<MemoryLook, 8> memory_looks{
    {{"weights", "weights", 'W', "33", "#2f6fb5", &StageMemory::weights},
     {"gradients", "gradients", 'G', "37", "#3aa6a0", &StageMemory::gradients},
     {"optimizer", "optimizer", 'O', "63", "#7a66c4", &StageMemory::optimizer},
     {"activations", "activations", 'A', "208", "#f08c2e", &StageMemory::activations},
     {"buffers", "buffers", 'B', "178", "#e3c23c", &StageMemory::buffers},
     {"communication", "communication", 'C', "71", "#6aa84f", &StageMemory::communication},
     {"context", "context", 'X', "244", "#9a9a9a", &StageMemory::context},
     {"fragmentation", "fragmentation", 'F', "131", "#c25b56", &StageMemory::fragmentation}}};

}  // namespace foretrain
