// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace foretrain {

/// Which list of a device's file a name stands in.
enum class DeviceNaming { product, table, platform };

/// The built-in catalog's device that others call so; empty: none. A product's name may start with
/// its maker and may be the catalog's own; a table's may be a product's or a short one, and may go
/// on in brackets; a platform is a machine of Megatron-LM's tests.
/// @throws ScenarioError when a device's file is broken, or two devices have one name
[[nodiscard]] std::string device_called(const std::string& name, DeviceNaming naming);

}  // namespace foretrain
