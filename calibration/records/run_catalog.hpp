// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "models/inputs/cluster.hpp"
#include "models/inputs/device.hpp"
#include "models/inputs/engine_profile.hpp"
#include "models/inputs/profile.hpp"
#include "scenarios/catalog/catalog_device.hpp"
#include "scenarios/catalog/catalog_machine.hpp"

namespace foretrain {

/// What records are expressed with, by catalog name.
struct RunCatalog {
  std::map<std::string, Device> devices;
  std::map<std::string, DeviceFamily> families;    ///< of devices
  std::map<std::string, std::string> usual_hosts;  ///< of devices, where a record names none
  std::map<std::string, std::string> relatives;    ///< of devices: what they are `like`
  std::map<std::string, Host> hosts;
  std::map<std::string, FabricPreset> fabrics;
  /// Fitted, or of devices without a fit, in proportion to the relative's.
  std::map<std::string, DeviceProfile> device_profiles;
  std::map<std::string, StackProfile> stacks;
  std::map<std::string, LlmShape> models;
  std::map<std::string, SiteProfile> sites;
  std::map<std::string, EngineProfile> engines;  ///< of inference
};

/// Reads every entry of these kinds from the catalogs.
/// @throws ScenarioError when an entry is broken.
[[nodiscard]] RunCatalog load_run_catalog(const std::vector<std::filesystem::path>& extra = {});

/// Devices that share fitted constants, by the device that was measured, which comes first.
/// @param constants a member of DeviceFamily that every measured device names itself in
[[nodiscard]] std::map<std::string, std::vector<std::string>> device_families(
    const RunCatalog& catalog, std::string DeviceFamily::*constants);
/// The device that a device's kernel constants are called after: one chip; itself where nobody
/// measured any.
[[nodiscard]] std::string chip_of(const std::string& device, const RunCatalog& catalog);
/// Catalog name of the device that a record calls `gpu`; empty where there is none.
[[nodiscard]] std::string device_of_record(const std::string& gpu, const RunCatalog& catalog);

}  // namespace foretrain
