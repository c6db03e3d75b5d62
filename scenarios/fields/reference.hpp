// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "scenarios/fields/field_table.hpp"

namespace foretrain {

/// What a key may hold: type, units, choices, range; choices in backticks.
[[nodiscard]] std::string legal_text(const Field& field);

/// Markdown page of every key of a file format: values, units, range, default, meaning.
[[nodiscard]] std::string reference_page(const FieldTable& table);

/// JSON Schema (draft-07) of a file format, for editors and other tools; ends with a line end.
/// Ranges of quantities and checks across keys are the reader's alone: a schema cannot state them.
/// A file with `extends` need not have the required keys, because its base may.
[[nodiscard]] std::string schema_json(const FieldTable& table);

}  // namespace foretrain
