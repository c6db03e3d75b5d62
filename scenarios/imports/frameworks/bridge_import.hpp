// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

/// The scenario of a Megatron-Bridge run: a launch that names a recipe (core_recipes.hpp) with
/// overrides `model.tensor_model_parallel_size=4`, a YAML of overrides with `--recipe NAME` and
/// overrides in the lines behind it, or the YAML of a whole ConfigContainer (`run_config.yaml`).
/// Data alone is read: a recipe that is not in the table is refused with what to state.
/// @throws ScenarioError
[[nodiscard]] ImportedScenario import_bridge(const ImportSource& source,
                                             const PlanImportOptions& options);

}  // namespace foretrain
