// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

/// The scenario of a Horovod launch (horovodrun, or mpirun with a Python script): replicas whose
/// gradients are summed in rings while the backward pass runs, in fusion buffers, which are
/// `communication.bucket`. @throws ScenarioError
[[nodiscard]] ImportedScenario import_horovod(const ImportSource& source,
                                              const PlanImportOptions& options);

}  // namespace foretrain
