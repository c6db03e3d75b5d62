// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "scenarios/fields/field_table.hpp"

namespace foretrain::machine_keys {

inline Field required(std::string path, std::string help, std::string example) {
  return {.path = std::move(path),
          .help = std::move(help),
          .example = std::move(example),
          .required = true};
}

/// A required value that must be above zero.
inline Field positive(std::string path, std::string help, std::string example) {
  Field field = required(std::move(path), std::move(help), std::move(example));
  field.min = 0;
  field.above_min = true;
  return field;
}

/// The same where not every entry knows it.
inline Field measured(std::string path, std::string help, std::string example) {
  Field field = positive(std::move(path), std::move(help), std::move(example));
  field.required = false;
  return field;
}

inline Field group(std::string path, std::string help, bool due = true) {
  return {
      .path = std::move(path), .kind = FieldKind::group, .help = std::move(help), .required = due};
}

inline Field count(std::string path, std::string help, std::string example, double min = 1) {
  Field field = required(std::move(path), std::move(help), std::move(example));
  field.min = min;
  field.max = 1024;  // keeps hosts x gpus within int
  return field;
}

}  // namespace foretrain::machine_keys
