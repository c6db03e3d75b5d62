// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "scenarios/fields/field_table.hpp"

/// Kinds of fields that the section `operations` is made of.
namespace foretrain::operations_field {

inline Field quantity(std::string path, Dimension dimension, std::string help,
                      std::string example) {
  return {.path = std::move(path),
          .kind = FieldKind::quantity,
          .help = std::move(help),
          .example = std::move(example),
          .dimension = dimension,
          .min = 0};
}

/// A time, rate or size that must be above zero.
inline Field positive(std::string path, Dimension dimension, std::string help,
                      std::string example) {
  Field field = quantity(std::move(path), dimension, std::move(help), std::move(example));
  field.above_min = true;
  return field;
}

inline Field time(std::string path, std::string help, std::string example) {
  return quantity(std::move(path), Dimension::time, std::move(help), std::move(example));
}

inline Field number(std::string path, std::string help, std::string example) {
  return {.path = std::move(path),
          .kind = FieldKind::number,
          .help = std::move(help),
          .example = std::move(example),
          .min = 0};
}

inline Field integer(std::string path, std::string help, std::string example, double min) {
  return {.path = std::move(path),
          .kind = FieldKind::integer,
          .help = std::move(help),
          .example = std::move(example),
          .min = min,
          .max = 1000000};
}

/// Above zero, at most one.
inline Field share(std::string path, std::string help, std::string example) {
  return {.path = std::move(path),
          .kind = FieldKind::number,
          .help = std::move(help),
          .example = std::move(example),
          .min = 0,
          .max = 1,
          .above_min = true};
}

inline Field flag(std::string path, std::string help) {
  return {.path = std::move(path),
          .kind = FieldKind::boolean,
          .help = std::move(help),
          .example = "true"};
}

/// The same of a list's element, which is nothing without it.
inline Field due(Field field) {
  field.required = true;
  return field;
}

}  // namespace foretrain::operations_field
