// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/planner/diagnosis/fault_player.hpp"

namespace foretrain::test {

/// How a diagnosis did on the runs of one cause.
struct FaultScore {
  int runs = 0;
  int first = 0;  ///< the true cause ranked first
  int tied = 0;   ///< it was among those that were said to be indistinguishable, or first
  std::map<std::string, int> instead;  ///< what was first in its place
};

/// By cause; "all faults" and "as-forecast" beside them.
using FaultScores = std::map<std::string, FaultScore>;

/// Plays and diagnoses that many runs: a fifth without a fault, the others with each fault in turn,
/// on the example scenarios in turn.
[[nodiscard]] FaultScores score_faults(int runs, LogDetail detail, std::uint64_t seed);

/// A table of it.
[[nodiscard]] std::string scores_text(const FaultScores& scores);

}  // namespace foretrain::test
