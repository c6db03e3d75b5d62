// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Where catalogs are looked for, in this order: `extra`; FORETRAIN_DATA_DIR if it is set, else the
/// data folder next to the installed program (<program>/../share/foretrain) if there is one, else
/// the source tree that this program was built from. None depends on the working directory.
/// An extra root may also be the YAML file of one device. A root that is neither is reported.
[[nodiscard]] std::vector<std::filesystem::path> catalog_roots(
    const std::vector<std::filesystem::path>& extra, Diagnostics& diagnostics);

/// A root that is not a folder of catalogs but the file of one device.
[[nodiscard]] bool is_device_file(const std::filesystem::path& root);

}  // namespace foretrain
