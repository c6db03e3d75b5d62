// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/forecast/report.hpp"

namespace foretrain {

/// Settings that a user wrote and that change nothing: "parallel.schedule=gpipe". Each override,
/// and each key of the file itself that differs from its default, is left out in turn; where every
/// number, reason and warning of the forecast stays, it is one. Keys that the scenario cannot do
/// without are not asked about, nor those of `extends`.
/// @param report of a scenario that trains, by `engine` @pre engine is closed_form or path
[[nodiscard]] std::vector<std::string> idle_settings(const Report& report,
                                                     AttentionFlops convention, EngineKind engine);

/// Adds a warning that names them; nothing where every setting counts.
void warn_of_idle_settings(AttentionFlops convention, EngineKind engine, Report& report);

}  // namespace foretrain
