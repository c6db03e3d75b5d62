// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// What a comparison leaves out of a machine that it ranks.
struct NotCompared {
  std::string subject;  ///< cluster, scenario or device
  std::string what;     ///< a sentence without its full stop
};

/// Number formats that the job's device computes faster in than in the job's own, by its
/// datasheet: those without kernel rates, and those that the job does not ask for. Blackwell's
/// narrower formats, which no device profile has, are named too.
[[nodiscard]] std::vector<NotCompared> formats_not_compared(const Job& job,
                                                            const std::string& subject);

/// What of the job's run has no price or no expected length.
[[nodiscard]] std::vector<NotCompared> costs_not_compared(const Job& job,
                                                          const std::string& subject);

/// What a ranking by `engine` says nothing about.
[[nodiscard]] NotCompared engines_not_compared(EngineKind engine);

/// Adds what is not listed yet.
void add_not_compared(std::vector<NotCompared>& list, std::vector<NotCompared> more);

}  // namespace foretrain
