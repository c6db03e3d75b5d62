// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "scenarios/imports/frameworks/imported_plan.hpp"
#include "scenarios/imports/megatron/megatron_source.hpp"

namespace foretrain {

/// The plan of Megatron-LM arguments (megatron_arguments.hpp), with what changes time: overlaps,
/// length of the run. Arguments that change memory and are not modelled, and those that nobody
/// knows, are refused by name unless they are among `options.left_out`.
[[nodiscard]] std::optional<ImportedPlan> megatron_plan(MegatronSource found,
                                                        const ImportSource& source,
                                                        const PlanImportOptions& options,
                                                        Diagnostics& diagnostics);

/// @throws ScenarioError
[[nodiscard]] ImportedScenario import_megatron(const ImportSource& source,
                                               const PlanImportOptions& options);

}  // namespace foretrain
