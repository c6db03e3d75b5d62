// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

/// The scenario of a torchtitan TOML: the keys of the versions of 2024 ([training] and
/// [experimental] hold the degrees) and of 2025 ([parallelism], local_batch_size, [compile]).
/// @throws ScenarioError
[[nodiscard]] ImportedScenario import_torchtitan(const ImportSource& source,
                                                 const PlanImportOptions& options);

/// The catalog's name of a torchtitan flavour, e.g. llama3 and 8B; empty where there is none.
[[nodiscard]] std::string torchtitan_model(const std::string& name, const std::string& flavor);

}  // namespace foretrain
