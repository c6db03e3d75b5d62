// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

namespace foretrain {

/// A plug-in that was asked for is not installed. what() is a sentence that says where it comes
/// from.
class PlugInMissing : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A library that the program loads when it needs it: beside the program, as in a build tree, where
/// the program is installed, or where a package put it. Empty where it is in none of these.
[[nodiscard]] std::filesystem::path plug_in_file(const std::string& name);

}  // namespace foretrain
