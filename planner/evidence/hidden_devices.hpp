// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/evidence/validate.hpp"

namespace foretrain {

/// A device to forecast as if its relative and its datasheet were all that is known.
struct HiddenPair {
  std::string device;
  std::string relative;  ///< empty: what its file says it is like
};

/// Errors of one kind of its records.
struct HiddenErrors {
  std::string device;
  std::string relative;
  std::vector<std::string> hidden_with;  ///< as HiddenDevice has it
  CheckSummary summary;                  ///< of one quantity and group
};

/// Refits without the records of each device in turn (calibration/validate/hidden_device.hpp), and
/// compares. Of `request`, memory is not read.
/// @throws UsageError, ScenarioError with places
[[nodiscard]] std::vector<HiddenErrors> validate_hidden(const ValidateRequest& request,
                                                        const std::vector<HiddenPair>& pairs);

[[nodiscard]] Answer hidden_answer(const std::vector<HiddenErrors>& errors);
/// {"hidden": [{"device", "relative", "hidden_with", "quantity", "group", ...}]}
[[nodiscard]] std::string hidden_json(const std::vector<HiddenErrors>& errors);
/// One line per device, quantity and group; errors in percent with two decimals.
[[nodiscard]] std::string hidden_csv(const std::vector<HiddenErrors>& errors);

}  // namespace foretrain
