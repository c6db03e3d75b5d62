// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/check/check.hpp"

namespace foretrain {

/// Numbers that moved for one reason.
struct DriftGroup {
  Drift lead;                  ///< what people look at first
  std::vector<Drift> alike;    ///< moved by the same factor
  std::vector<Drift> inverse;  ///< moved by one over that factor
  std::vector<Drift> parts;    ///< of what leads: they sum to what it moved by; largest first

  /// "step.time_s: 8.31 s -> 8.56 s (+3.0 %); likewise step.low_s, run.ideal_s; inversely mfu;
  /// parts: tensor +252 ms"
  [[nodiscard]] std::string text() const;
};

/// Every drift in exactly one group. A number joins the one before it that moved by the same share
/// to within 2 % of that, or by the inverse; numbers of memory join only numbers of memory. Parts
/// of the step go to step.time_s, those of the heaviest stage to memory.peak_bytes, where these
/// moved. The step leads, then memory; the rest stays in order.
[[nodiscard]] std::vector<DriftGroup> grouped(const std::vector<Drift>& drifts);

}  // namespace foretrain
