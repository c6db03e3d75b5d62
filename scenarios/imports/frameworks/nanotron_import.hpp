// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/inputs/llm.hpp"
#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

/// Layers per stage as nanotron deals them: by their matrix multiplications, the vocabulary
/// projection included; a stage is full once its share of the running sum is exceeded
/// (nanotron/models/base.py and llama.py).
[[nodiscard]] std::vector<int> nanotron_stage_layers(const LlmShape& model, int stages);

/// The scenario of a nanotron YAML. @throws ScenarioError
[[nodiscard]] ImportedScenario import_nanotron(const ImportSource& source,
                                               const PlanImportOptions& options);

}  // namespace foretrain
