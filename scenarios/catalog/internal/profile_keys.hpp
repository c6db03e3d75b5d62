// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/catalog/internal/machine_keys.hpp"

namespace foretrain::profile_keys {

using machine_keys::group;

/// A required value that is not below zero.
inline Field amount(std::string path, std::string help, std::string example) {
  return {.path = std::move(path),
          .help = std::move(help),
          .example = std::move(example),
          .required = true,
          .min = 0};
}

/// A share of something: above 0, at most 1.
inline Field share(std::string path, std::string help, std::string example) {
  Field field = amount(std::move(path), std::move(help), std::move(example));
  field.max = 1;
  field.above_min = true;
  return field;
}

/// What a file may leave out because nobody measured it.
inline Field optional(std::string path, std::string help, std::string example) {
  Field field = amount(std::move(path), std::move(help), std::move(example));
  field.required = false;
  return field;
}

inline Field optional_group(std::string path, std::string help) {
  Field field = group(std::move(path), std::move(help));
  field.required = false;
  return field;
}

}  // namespace foretrain::profile_keys
