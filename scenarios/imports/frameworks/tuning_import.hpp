// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

/// Who reads a fine-tuning configuration.
enum class TuningFramework { transformers, axolotl, llamafactory, swift };

/// The scenario of a fine-tuning configuration, YAML or JSON: keys of the Trainer's arguments with
/// those of an `accelerate` configuration and of a PEFT adapter_config.json (transformers; each may
/// be a file of its own, see PlanImportOptions::beside), or of Axolotl, LLaMA-Factory and ms-swift.
/// Data alone is read. @throws ScenarioError
[[nodiscard]] ImportedScenario import_tuning(TuningFramework framework, const ImportSource& source,
                                             const PlanImportOptions& options);

}  // namespace foretrain
