// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

/// The scenario of a DeepSpeed JSON. It holds neither model nor sequence: `options.model` and
/// `options.sequence` give them, or `options.arguments`, the Megatron-DeepSpeed arguments that go
/// with it. @throws ScenarioError
[[nodiscard]] ImportedScenario import_deepspeed(const ImportSource& source,
                                                const PlanImportOptions& options);

}  // namespace foretrain
