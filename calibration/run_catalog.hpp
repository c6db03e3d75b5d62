// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "models/device.hpp"
#include "models/profile.hpp"

namespace foretrain {

/// Devices and stacks that records are expressed with, by catalog name.
struct RunCatalog {
  std::map<std::string, Device> devices;
  std::map<std::string, StackProfile> stacks;
};

/// Reads every device and every stack profile of the catalogs.
/// @throws ScenarioError when an entry is broken.
[[nodiscard]] RunCatalog load_run_catalog(const std::vector<std::filesystem::path>& extra = {});

}  // namespace foretrain
