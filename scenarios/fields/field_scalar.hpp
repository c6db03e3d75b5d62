// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "scenarios/fields/field_reader.hpp"

namespace foretrain {

/// Reads one scalar as `field` asks; used for files, flags and defaults alike.
[[nodiscard]] Parsed<FieldValue> read_scalar(const Field& field, const YamlNode& node);

/// "must be an integer, not a list" and the like.
[[nodiscard]] std::string wrong_type(const Field& field, const YamlNode& node);

/// What a node is called in messages: "a single value", "a list", ...
[[nodiscard]] std::string_view kind_name(const YamlNode& node);

}  // namespace foretrain
