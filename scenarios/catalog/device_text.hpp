// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/inputs/device.hpp"
#include "scenarios/yaml/load_options.hpp"

namespace foretrain {

/// What a datasheet says of a device that nobody measured, and the device that it is like.
struct DeviceTextRequest {
  std::string name;   ///< of the entry, its host and its file
  std::string title;  ///< empty: the name
  std::string like;   ///< device of the catalog whose kernels it is expected to run
  std::map<Precision, FlopPerSecond> peak;         ///< dense; bf16 or fp16 is needed
  std::optional<Bytes> memory;                     ///< as sold
  std::optional<BytesPerSecond> memory_bandwidth;  ///< of the memory
  std::optional<BytesPerSecond> scale_up;          ///< of one GPU's links, one direction
  std::optional<Watts> power_limit;
  std::optional<int> multiprocessors;
  std::string host;           ///< host of the catalog that its own is like; empty: the relative's
  std::optional<int> gpus;    ///< of its host
  std::optional<int> domain;  ///< GPUs that one NVSwitch fabric joins
  std::optional<int> nics;    ///< of its host
  std::string source;         ///< for `sources`
  std::string date;           ///< year-month-day
};

/// A file to write, and what in it nobody said.
struct DeviceText {
  std::string text;
  std::vector<std::string> assumed;
};

/// A device in the format of topologies/catalog/devices with a host of its name, in one file.
/// Formats without a rate get the relative's in proportion to those that have one.
/// @throws ScenarioError, one line per option of `foretrain device new` that is impossible, unknown
///   or missing; that option is the place of the line
[[nodiscard]] DeviceText device_catalog_text(const DeviceTextRequest& request,
                                             const LoadOptions& options);

}  // namespace foretrain
