// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

/// A first scenario for the model of a Hugging Face configuration: every GPU a replica with
/// ZeRO-1, one sequence per GPU and step. All of it is assumed, and said so. @throws ScenarioError
[[nodiscard]] ImportedScenario plan_of_huggingface(const ImportSource& source,
                                                   const PlanImportOptions& options);

/// Low-rank matrices beside the model's linear layers, of which alone is trained.
struct WantedAdapter {
  int rank = 0;
  bool quantised = false;  ///< frozen weights in 4 bits (QLoRA)
};

/// The same with an adapter: as the Hugging Face Trainer and PEFT fine-tune the model, which
/// `import transformers` reads. All of it is assumed, and said so. @throws ScenarioError
[[nodiscard]] ImportedScenario tuning_of_huggingface(const ImportSource& source,
                                                     const WantedAdapter& adapter,
                                                     const PlanImportOptions& options);

}  // namespace foretrain
