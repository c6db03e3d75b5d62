// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace foretrain {

/// A library that the program loads when it needs it: beside the program, as in a build tree, or
/// where it is installed. Empty where it is in neither place.
[[nodiscard]] std::filesystem::path plug_in_file(const std::string& name);

}  // namespace foretrain
