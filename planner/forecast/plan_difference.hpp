// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/forecast/report.hpp"

namespace foretrain {

/// A stretch of the waterfall in two plans.
struct PartDifference {
  std::string key;  ///< WaterfallPart::key
  std::string label;
  double seconds;  ///< other less first, over the sequences of the first one's step
};

/// Where the other plan loses time (or gains it: negative), the most first.
/// @pre both forecasts have a step
[[nodiscard]] std::vector<PartDifference> part_differences(const Report& first,
                                                           const Report& other);

/// Settings of the first plan that the other has not, "parallel.tensor=8 instead of 4, ...".
[[nodiscard]] std::string differing_settings(const std::vector<std::string>& first,
                                             const std::vector<std::string>& other);

/// "Its step is 1.2 s (4.01 %) shorter for the same sequences. It saves ... It pays ..."
[[nodiscard]] std::string difference_sentences(const Report& first, const Report& other);

/// What decides whether the gain of one plan over another is real: each large part that it saves
/// or pays, with the property of model or machine that the forecast of it rests on.
[[nodiscard]] std::vector<std::string> conditions_of_gain(const Report& first, const Report& other);
/// The same of the large parts of one forecast's step.
[[nodiscard]] std::vector<std::string> conditions_of_step(const Report& report);

}  // namespace foretrain
