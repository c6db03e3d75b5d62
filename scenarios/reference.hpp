// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "scenarios/field_table.hpp"

namespace foretrain {

/// Markdown page of every key of a file format: values, units, range, default, meaning.
[[nodiscard]] std::string reference_page(const FieldTable& table);

}  // namespace foretrain
