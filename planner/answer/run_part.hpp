// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "models/base/prediction.hpp"
#include "planner/text/palette.hpp"

namespace foretrain {

/// One row per part of a run's time.
struct RunPart {
  Seconds RunSplit::*time;
  std::string_view key;  ///< of the JSON: "lost_s"
  std::string_view label;
  std::string_view meaning;
  std::string_view formula;
  std::string_view inputs;
};

/// In the order of the JSON; they sum to the expected duration.
[[nodiscard]] std::span<const RunPart> run_parts();

}  // namespace foretrain
