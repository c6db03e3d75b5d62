// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "scenarios/fields/field_reader.hpp"

namespace foretrain {

/// Reads the shipped file `calibration/measured/NAME` and checks it against its keys.
/// @throws ScenarioError with the places of what is wrong
[[nodiscard]] FieldValues read_measured_data(const std::string& name, const FieldTable& table,
                                             Diagnostics& diagnostics);

}  // namespace foretrain
