// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/imports/frameworks/imported_plan.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// The scenario of a line `megatron sft`, `pt` or `rlhf` of ms-swift, whose arguments are those of
/// Megatron-Core with underscores. @throws ScenarioError
[[nodiscard]] ImportedScenario import_swift_megatron(const YamlNode& arguments,
                                                     std::vector<std::string> assumed,
                                                     const ImportSource& source,
                                                     const PlanImportOptions& options,
                                                     Diagnostics& diagnostics);

}  // namespace foretrain
