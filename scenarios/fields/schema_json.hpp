// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "scenarios/fields/field_table.hpp"

namespace foretrain {

/// JSON Schema (draft-07) of a file format, for editors and other tools; ends with a line end.
/// Ranges of quantities and checks across keys are the reader's alone: a schema cannot state them.
/// A file with `extends` need not have the required keys, because its base may.
[[nodiscard]] std::string schema_json(const FieldTable& table);

}  // namespace foretrain
