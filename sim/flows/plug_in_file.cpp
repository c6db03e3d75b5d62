// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/plug_in_file.hpp"

#include <system_error>

#ifndef FORETRAIN_INSTALLED_LIBRARIES
#define FORETRAIN_INSTALLED_LIBRARIES "."
#endif

namespace foretrain {

std::filesystem::path plug_in_file(const std::string& name) {
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  // An absolute third place replaces the folder; "." is the first place once more.
  for (const std::filesystem::path& place :
       {folder, folder / FORETRAIN_LIBRARY_FOLDER, folder / FORETRAIN_INSTALLED_LIBRARIES})
    if (std::filesystem::is_regular_file(place / name, error)) return place / name;
  return {};
}

}  // namespace foretrain
