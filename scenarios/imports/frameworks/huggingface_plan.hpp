// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

/// A first scenario for the model of a Hugging Face configuration: every GPU a replica with
/// ZeRO-1, one sequence per GPU and step. All of it is assumed, and said so. @throws ScenarioError
[[nodiscard]] ImportedScenario plan_of_huggingface(const ImportSource& source,
                                                   const PlanImportOptions& options);

}  // namespace foretrain
