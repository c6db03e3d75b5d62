// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

/// The scenario of a YAML of LightningCLI: what its `trainer` launches (DDP, FSDP, DeepSpeed).
/// Model, rows and batch are code there: the user says them. @throws ScenarioError
[[nodiscard]] ImportedScenario import_lightning(const ImportSource& source,
                                                const PlanImportOptions& options);

}  // namespace foretrain
