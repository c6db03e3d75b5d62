// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

/// A first scenario for the model of a Hugging Face configuration: every GPU a replica with
/// ZeRO-1, one sequence per GPU and step; on one GPU, fine-tuning of all weights. All of it is
/// assumed, and said so. @throws ScenarioError
[[nodiscard]] ImportedScenario plan_of_huggingface(const ImportSource& source,
                                                   const PlanImportOptions& options);

/// What is trained of the model: low-rank matrices beside its linear layers, or all of it.
struct WantedTuning {
  std::optional<int> rank{};  ///< of the matrices; nothing: all weights
  bool quantised = false;     ///< frozen weights in 4 bits (QLoRA)
  /// How the checkpoint has packed them already; nothing: in 16 bits.
  std::optional<FrozenFormat> frozen{};
};

/// The same as the Hugging Face Trainer and PEFT fine-tune the model, which
/// `import transformers` reads. All of it is assumed, and said so. @throws ScenarioError
[[nodiscard]] ImportedScenario tuning_of_huggingface(const ImportSource& source,
                                                     const WantedTuning& tuning,
                                                     const PlanImportOptions& options);

/// The same for a model of the catalog, or a model file: options.model. @throws ScenarioError
[[nodiscard]] ImportedScenario tuning_of_model(const WantedTuning& tuning,
                                               const PlanImportOptions& options);

}  // namespace foretrain
