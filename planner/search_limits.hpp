// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "models/job.hpp"
#include "models/prediction.hpp"

namespace foretrain {

/// What a plan must keep to be of use.
struct SearchLimits {
  double max_memory_share = 1.0;  ///< of the usable memory of a GPU
  Bytes headroom{};               ///< of it that stays free
  std::optional<Seconds> max_step{};
  std::optional<Seconds> max_run{};    ///< the expected run; the ideal one where goodput is unknown
  std::optional<Dollars> max_price{};  ///< of that run
  std::optional<Watts> max_power{};    ///< of all GPU boards at their limit

  /// Bytes that a GPU may use.
  [[nodiscard]] Bytes memory_of(const Device& device) const;
  /// Whether a plan is judged by more than its memory.
  [[nodiscard]] bool judge_time() const;
};

/// How far a plan is beyond a limit.
struct Excess {
  std::string rule;     ///< out-of-memory, max-memory-share, headroom, max-step, deadline, ...
  double ratio = 0.0;   ///< value / limit, above 1
  std::string message;  ///< both, for people
};

/// The memory limit that a plan breaks.
[[nodiscard]] std::optional<Excess> memory_excess(const SearchLimits& limits, const Device& device,
                                                  Bytes peak);
/// Of the other limits, the one that is exceeded by most.
[[nodiscard]] std::optional<Excess> run_excess(const SearchLimits& limits, const Job& job,
                                               Seconds step);

/// Duration of the run: as expected, or the ideal one where goodput is unknown. Absent without
/// training.tokens.
[[nodiscard]] std::optional<Seconds> run_duration(const Prediction& prediction);

/// Why limits cannot be judged for a scenario, in one sentence for a usage error: a price that
/// nobody gave, a run without an end, headroom beyond the GPU. Empty: they can.
[[nodiscard]] std::string limit_problem(const SearchLimits& limits, const Job& job);

}  // namespace foretrain
