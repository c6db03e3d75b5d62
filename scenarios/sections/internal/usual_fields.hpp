// SPDX-License-Identifier: Apache-2.0
// Fields that several sections have.
#pragma once

#include <string>
#include <utility>

#include "scenarios/fields/field_table.hpp"

namespace foretrain::keys {

/// A whole number of something.
[[nodiscard]] inline Field count_of(std::string path, std::string help, std::string example,
                                    double least = 1, double most = 1e6) {
  return {.path = std::move(path),
          .help = std::move(help),
          .example = std::move(example),
          .min = least,
          .max = most};
}

/// A time.
[[nodiscard]] inline Field time_of(std::string path, std::string help, std::string example,
                                   bool above_zero = true) {
  return {.path = std::move(path),
          .kind = FieldKind::quantity,
          .help = std::move(help),
          .example = std::move(example),
          .dimension = Dimension::time,
          .min = 0,
          .above_min = above_zero};
}

}  // namespace foretrain::keys
