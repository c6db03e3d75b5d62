// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "scenarios/catalog/catalog_entry.hpp"

namespace foretrain {

/// Measured devices whose constants a device shares; empty: nobody measured any.
struct DeviceFamily {
  std::string kernels;      ///< the same chip
  std::string collectives;  ///< the same links between GPUs
  std::string lines;        ///< what collectives cost on other links than its own, unmeasured ones
};

/// A device's file: its datasheet, and what else it takes to forecast on it. scenarios/README.md,
/// "A device is one file".
struct DeviceEntry {
  Device device;
  std::optional<Link> scale_up;  ///< of hosts that name no link of their own
  std::optional<Link> pcie;
  std::optional<CatalogFile> relative;  ///< `like`
  DeviceFamily family;
  std::string host;    ///< of measurements that name none; empty: not known
  FieldValues values;  ///< of the file and its relatives
};

/// What no chip's matrix rates are: none at all, or a shorter format slower than a longer one.
/// Empty: they may be.
[[nodiscard]] std::string peak_fault(const std::map<Precision, FlopPerSecond>& peak);

/// Reads a known file. `prefix` as for read_item().
[[nodiscard]] std::optional<DeviceEntry> read_device_entry(const CatalogFile& file,
                                                           const std::string& prefix,
                                                           CatalogContext& context);

/// The file of a device that says what it is like and of which there is no measured profile.
[[nodiscard]] std::optional<CatalogFile> device_without_profile(const std::string& name,
                                                                CatalogContext& context);

/// The profile of such a device: that of its relative in proportion to the datasheets (shares and
/// times as they are, rates with the matrix rate, tiles with the multiprocessors), what the file
/// says under `profile` over it, and extrapolated unless it says otherwise.
[[nodiscard]] std::optional<DeviceProfile> read_profile_in_proportion(const CatalogFile& device,
                                                                      const std::string& prefix,
                                                                      CatalogContext& context);

/// The same of constants at hand: those of `relative`, which belong to the device `from`, on `to`.
[[nodiscard]] DeviceProfile profile_in_proportion(DeviceProfile relative, const Device& from,
                                                  const Device& to);

}  // namespace foretrain
