// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace foretrain {

/// Two lines: the program's version; the latest date of a source in its catalogs and profiles, and
/// the folder that they lie in. The second line says so where no data is found.
[[nodiscard]] std::string version_text();

}  // namespace foretrain
