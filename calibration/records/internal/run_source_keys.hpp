// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/fields/field_table.hpp"

namespace foretrain {

/// Keys of calibration/measured/sources.yaml.
[[nodiscard]] const FieldTable& run_source_fields();

}  // namespace foretrain
