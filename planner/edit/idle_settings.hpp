// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "planner/forecast/report.hpp"

namespace foretrain {

/// Settings that a user wrote and that change nothing: "parallel.schedule=gpipe". Each override,
/// and each key of the file itself, is left out in turn; where every number, reason and warning of
/// the forecast stays, it is one. A key that says its default is given other values instead, twice
/// and half a number and all other choices: it is one where none of them moves anything. Keys that
/// the scenario cannot do without are not asked about, nor those of `extends`, nor plans of serving
/// and post-training that cannot run.
/// @param report of the scenario, by `engine` @pre engine is closed_form or path
[[nodiscard]] std::vector<std::string> idle_settings(const Report& report,
                                                     AttentionFlops convention, EngineKind engine,
                                                     const std::atomic<bool>* stop = nullptr);

/// Adds a warning that names them; nothing where every setting counts.
void warn_of_idle_settings(AttentionFlops convention, EngineKind engine, Report& report,
                           const std::atomic<bool>* stop = nullptr);

}  // namespace foretrain
