// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "scenarios/fields/field_reader.hpp"

namespace foretrain {

/// A relative's value times the ratio of a datum of both datasheets, with an origin that says so.
[[nodiscard]] FieldValue in_proportion(FieldValue value, double ratio, std::string_view datum);

}  // namespace foretrain
