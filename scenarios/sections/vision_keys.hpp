// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/inputs/llm.hpp"
#include "scenarios/fields/key_rows.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// The keys of a vision tower and its projectors.
[[nodiscard]] KeyRows vision_keys();

/// What the keys must be of each other.
void check_vision(const VisionShape& vision, const FieldValues& values, Diagnostics& diagnostics);

}  // namespace foretrain
