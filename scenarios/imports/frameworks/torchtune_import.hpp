// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

/// The scenario of a torchtune configuration of full, LoRA, QLoRA, DoRA or DPO recipes, with
/// overrides `batch_size=4` in the lines behind it. @throws ScenarioError
[[nodiscard]] ImportedScenario import_torchtune(const ImportSource& source,
                                                const PlanImportOptions& options);

/// Names that a model builder may have in the catalog: "llama3.1-8b" and "llama3-1.8b" of
/// "torchtune.models.llama3_1.lora_llama3_1_8b".
[[nodiscard]] std::vector<std::string> torchtune_models(const std::string& component);

}  // namespace foretrain
