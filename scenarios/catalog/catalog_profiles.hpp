// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "scenarios/catalog/catalog_entry.hpp"

namespace foretrain {

/// Each reads a known file. `prefix` as for read_item().
[[nodiscard]] std::optional<DeviceProfile> read_device_profile(const CatalogFile& file,
                                                               const std::string& prefix,
                                                               CatalogContext& context);
[[nodiscard]] std::optional<StackProfile> read_stack(const CatalogFile& file,
                                                     const std::string& prefix,
                                                     CatalogContext& context);
[[nodiscard]] std::optional<SiteProfile> read_site(const CatalogFile& file,
                                                   const std::string& prefix,
                                                   CatalogContext& context);

/// The profile that these values of a device profile make. `prefix` as for read_item().
[[nodiscard]] std::optional<DeviceProfile> device_profile_of(FieldValues values,
                                                             const std::string& name,
                                                             const std::string& prefix,
                                                             CatalogContext& context);

[[nodiscard]] std::optional<EngineProfile> read_engine(const CatalogFile& file,
                                                       const std::string& prefix,
                                                       CatalogContext& context);

/// The keys of their files, those that fits may move among them.
[[nodiscard]] const BoundTable<DeviceProfile>& device_profile_table();
[[nodiscard]] const BoundTable<StackProfile>& stack_table();
[[nodiscard]] const BoundTable<SiteProfile>& site_table();
[[nodiscard]] const BoundTable<EngineProfile>& engine_table();

}  // namespace foretrain
