// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/fit.hpp"

namespace foretrain {

/// The report as JSON, schema memory/1 (planner/README.md). `stage` is the one that was asked for
/// or, absent, the heaviest; every stage is listed.
[[nodiscard]] std::string fit_json(const FitReport& report, std::optional<int> stage = {});

}  // namespace foretrain
