// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/plug_in_file.hpp"

#include <system_error>

#include "models/base/own_binary.hpp"

#ifndef FORETRAIN_INSTALLED_LIBRARIES
#define FORETRAIN_INSTALLED_LIBRARIES "."
#endif

namespace foretrain {

std::filesystem::path plug_in_file(const std::string& name) {
  std::error_code error;
  const OwnBinary own = own_binary();
  const std::filesystem::path folder = std::filesystem::path(own.file).parent_path();
  // An absolute place replaces the folder; "." is the first place once more. A module of Python
  // lies in PREFIX/lib/python3/dist-packages/NAME, or in a build tree beside bin.
  const char* const below = own.library ? "../../../foretrain" : FORETRAIN_LIBRARY_FOLDER;
  const char* const beside = own.library ? "../../bin" : ".";
  for (const std::filesystem::path& place :
       {folder, folder / below, folder / beside, folder / FORETRAIN_INSTALLED_LIBRARIES})
    if (std::filesystem::is_regular_file(place / name, error)) return place / name;
  return {};
}

}  // namespace foretrain
