// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "models/inputs/job.hpp"

namespace foretrain {

/// What the stack's measured memory says nothing of.
struct MemoryDoubt {
  double share = 0.0;    ///< of allocated bytes
  std::string_view why;  ///< "few hybrids were measured ..."
};

/// Of this job, each with the size that measurements showed beside the stack's band.
[[nodiscard]] std::vector<MemoryDoubt> memory_doubts(const Job& job);

/// How far allocated bytes may be off, as a share: MemoryRules::band and all doubts, root of
/// squares.
[[nodiscard]] double memory_band(const Job& job);

/// The same of device bytes, as a share of allocated ones: with MemoryRules::reserved_band.
[[nodiscard]] double reserved_band(const Job& job);

}  // namespace foretrain
