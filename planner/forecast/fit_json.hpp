// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/forecast/fit.hpp"

namespace foretrain {

/// The report as JSON, schema memory/1 (planner/README.md): every stage, and which was asked for.
/// @pre view.rank, if any, is a rank of the plan
[[nodiscard]] std::string fit_json(const FitReport& report, const FitView& view = {});

}  // namespace foretrain
