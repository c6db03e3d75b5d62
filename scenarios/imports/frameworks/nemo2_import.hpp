// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

/// The scenario of a NeMo 2 run: a line `nemo llm pretrain --factory llama3_8b trainer.num_nodes=2`
/// of NeMo-Run, or its YAML, with the recipes of core_recipes.hpp. Data alone is read: a recipe
/// that is not in the table is refused with what to state. @throws ScenarioError
[[nodiscard]] ImportedScenario import_nemo2(const ImportSource& source,
                                            const PlanImportOptions& options);

}  // namespace foretrain
