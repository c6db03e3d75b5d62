// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scenarios/fields/field_table.hpp"

namespace foretrain {

/// Keys of `workload`: its horizon, its classes, their arrivals and durations.
[[nodiscard]] std::vector<Field> workload_fields();

/// Rows of the table of a cluster file, by kind of value.
namespace field_makers {

inline Field time_field(std::string path, std::string help, std::string example) {
  return {.path = std::move(path),
          .kind = FieldKind::quantity,
          .help = std::move(help),
          .example = std::move(example),
          .dimension = Dimension::time,
          .min = 0};
}

inline Field required(Field field) {
  field.required = true;
  return field;
}

inline Field above_zero(Field field) {
  field.min = 0;
  field.above_min = true;
  return field;
}

inline Field count_field(std::string path, std::string help, std::string example,
                         double least = 1) {
  return {.path = std::move(path),
          .kind = FieldKind::integer,
          .help = std::move(help),
          .example = std::move(example),
          .min = least,
          .max = 1e6};
}

inline Field number_field(std::string path, std::string help, std::string example) {
  return {.path = std::move(path),
          .kind = FieldKind::number,
          .help = std::move(help),
          .example = std::move(example)};
}

inline Field text_field(std::string path, std::string help, std::string example) {
  return {.path = std::move(path), .help = std::move(help), .example = std::move(example)};
}

inline Field group_field(std::string path, std::string help) {
  return {.path = std::move(path), .kind = FieldKind::group, .help = std::move(help)};
}

inline Field list_field(std::string path, std::string help) {
  return {.path = std::move(path), .kind = FieldKind::list, .help = std::move(help)};
}

inline Field flag_field(std::string path, std::string help) {
  return {.path = std::move(path),
          .kind = FieldKind::boolean,
          .help = std::move(help),
          .example = "true",
          .default_text = "false"};
}

inline Field with_default(Field field, std::string text) {
  field.default_text = std::move(text);
  return field;
}

}  // namespace field_makers
}  // namespace foretrain
