// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/cli/command.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/huggingface_plan.hpp"

namespace foretrain {

/// What commands that read a framework's configuration share.
struct FrameworkOptions {
  PlanImportOptions import;
  std::vector<std::string> variables;  ///< NAME=VALUE
  OwnFolders folders;
  std::string precision;  ///< where a DeepSpeed JSON says "auto"; empty: not given
};

/// --as: the family that a Hugging Face configuration is read as.
void add_family_option(CommandRow& command, std::string& as);

/// The scenario of a file, or of arguments in place of one.
/// @throws ScenarioError, UsageError
[[nodiscard]] ImportedScenario import_words(Framework framework,
                                            const std::vector<std::string>& words,
                                            const FrameworkOptions& options);

/// The host, its fabric and the number of GPUs of what is imported.
void add_machine_options(CommandRow& command, PlanImportOptions& options);

/// A first scenario for the model of a Hugging Face configuration, or for an adapter beside it.
/// @throws ScenarioError, UsageError
[[nodiscard]] ImportedScenario import_huggingface_file(const std::string& file,
                                                       const FrameworkOptions& options,
                                                       const std::optional<WantedTuning>& tuning);
/// Fine-tuning of a model of the catalog, or of a model file: options.import.model.
[[nodiscard]] ImportedScenario import_tuned_model(const FrameworkOptions& options,
                                                  const WantedTuning& tuning);

}  // namespace foretrain
