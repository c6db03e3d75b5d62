// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace foretrain {

/// The file that this code was loaded from: the program, or a library or extension module that
/// brings it into another one. Data and plug-ins lie at places that are relative to it.
struct OwnBinary {
  std::string file;      ///< absolute; empty where the system does not say
  bool library = false;  ///< part of another program
};

[[nodiscard]] OwnBinary own_binary();

}  // namespace foretrain
