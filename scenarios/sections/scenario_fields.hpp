// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/fields/field_table.hpp"

namespace foretrain {

/// Every key of a scenario file, schema 1: the one place that the reader, the JSON Schema and the
/// reference page take them from. Defaults equal those of models/inputs/job.hpp (checked by a
/// test).
[[nodiscard]] const FieldTable& scenario_fields();

}  // namespace foretrain
