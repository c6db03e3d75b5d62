// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

/// The scenario of a MaxText configuration over its base.yml: a YAML, overrides
/// `per_device_batch_size=4` in the lines behind it, or overrides alone. Axes of data, sharding and
/// tensor parallelism are read; others are refused. @throws ScenarioError
[[nodiscard]] ImportedScenario import_maxtext(const ImportSource& source,
                                              const PlanImportOptions& options);

}  // namespace foretrain
