// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace foretrain {

/// A model of the catalog that a hub id, a folder or a builder's name means.
struct HubModel {
  std::string name;      ///< empty: the catalog has none
  bool another = false;  ///< under another name, with the same shape
};

[[nodiscard]] HubModel hub_model(const std::string& id,
                                 const std::vector<std::filesystem::path>& catalogs);

/// Where a model of the catalog is released, as OWNER/NAME; empty: nowhere that is known.
[[nodiscard]] std::string hub_id(const std::string& model,
                                 const std::vector<std::filesystem::path>& catalogs);

/// OWNER/NAME, as hubs name models; no path of a file.
[[nodiscard]] bool is_hub_id(const std::string& name);
/// Behind the last "/" that does not end a name.
[[nodiscard]] std::string last_part(std::string id);

/// How weights rest that a hub id says are packed in a way that is not modelled: "AQLM"; else
/// empty.
[[nodiscard]] std::string packed_otherwise(const std::string& id);

/// Which list of a device's file a name stands in.
enum class DeviceNaming { product, table, platform };

/// The built-in catalog's device that others call so; empty: none. A product's name may start with
/// its maker and may be the catalog's own; a table's may be a product's or a short one, and may go
/// on in brackets; a platform is a machine of Megatron-LM's tests.
/// @throws ScenarioError when a device's file is broken, or two devices have one name
[[nodiscard]] std::string device_called(const std::string& name, DeviceNaming naming);

}  // namespace foretrain
