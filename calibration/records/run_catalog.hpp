// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "models/inputs/cluster.hpp"
#include "models/inputs/device.hpp"
#include "models/inputs/profile.hpp"
#include "scenarios/catalog/catalog_machine.hpp"

namespace foretrain {

/// What records are expressed with, by catalog name.
struct RunCatalog {
  std::map<std::string, Device> devices;
  std::map<std::string, Host> hosts;
  std::map<std::string, FabricPreset> fabrics;
  std::map<std::string, DeviceProfile> device_profiles;
  std::map<std::string, StackProfile> stacks;
  std::map<std::string, SiteProfile> sites;
};

/// Reads every entry of these kinds from the catalogs.
/// @throws ScenarioError when an entry is broken.
[[nodiscard]] RunCatalog load_run_catalog(const std::vector<std::filesystem::path>& extra = {});

}  // namespace foretrain
