// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/inputs/llm.hpp"
#include "scenarios/fields/field_binding.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// The keys of a vision tower and its projectors.
[[nodiscard]] std::vector<Bound<LlmShape>> vision_keys();

/// What the keys must be of each other.
void check_vision(const VisionShape& vision, const FieldValues& values, Diagnostics& diagnostics);

/// The group as a file would say it, without what is so anyway.
[[nodiscard]] std::string vision_text(const VisionShape& vision);

}  // namespace foretrain
