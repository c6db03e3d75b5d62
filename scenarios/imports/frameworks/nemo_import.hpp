// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

/// The scenario of a NeMo (1.x) configuration: its YAML, or overrides `model.hidden_size=4096`, or
/// the YAML with overrides in the lines behind it. NeMo runs Megatron-Core, so its keys become the
/// arguments of that. @throws ScenarioError
[[nodiscard]] ImportedScenario import_nemo(const ImportSource& source,
                                           const PlanImportOptions& options);

}  // namespace foretrain
