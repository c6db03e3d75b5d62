// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace foretrain {

/// Version and build of this program, such as "0.1.0 3f6c...": the linker's build id, or the
/// SHA-256 of the program's file where it has none.
[[nodiscard]] std::string program_build();

/// Two lines: the program's version; the latest date of a source in its catalogs and profiles, and
/// the folder that they lie in. The second line says so where no data is found.
[[nodiscard]] std::string version_text();

}  // namespace foretrain
