// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/inputs/cluster.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/load_options.hpp"
#include "topologies/imports/fabric_shape.hpp"
#include "topologies/imports/network_description.hpp"

namespace foretrain {

/// What a user adds to the description of a host. Empty: found in the catalogs.
struct HostTextRequest {
  std::string name;      ///< of the entry and its file
  std::string source;    ///< for its `sources`
  std::string date;      ///< year-month-day
  std::string device;    ///< catalog name
  std::string like;      ///< catalog host that gives what the description does not say
  std::string gpu_link;  ///< catalog name
  std::string nic_link;  ///< catalog name
  std::string pcie;      ///< catalog name
};

/// A file to write, and what in it nobody said.
struct MachineText {
  std::string text;
  std::vector<std::string> assumed;
};

/// A host in the format of topologies/catalog/hosts. Devices are known by their PCI id, links by
/// technology and rate, all from the catalogs.
/// @throws ScenarioError naming the option that helps, where the catalogs have nothing that fits
[[nodiscard]] MachineText host_catalog_text(const HostDescription& host,
                                            const HostTextRequest& request,
                                            const LoadOptions& options);

/// What a user adds to a fabric.
struct ClusterTextRequest {
  std::string host;    ///< catalog name
  std::string preset;  ///< catalog name; empty: the one whose link the host's NICs are
  std::string base;    ///< scenario that the text extends; empty: none
  std::string source;  ///< for the comment on top
};

/// The host and the preset of a fabric, from the catalogs.
struct ClusterParts {
  Host host;
  std::string preset;
  int switch_radix = 0;  ///< of the preset
};
/// @throws ScenarioError naming what there is
[[nodiscard]] ClusterParts cluster_parts(const ClusterTextRequest& request,
                                         const LoadOptions& options);

/// A scenario file with the `cluster:` of a fabric and nothing else; others extend it, or it
/// extends `request.base`.
[[nodiscard]] std::string cluster_text(const FabricShape& shape, const ClusterParts& parts,
                                       const ClusterTextRequest& request);
/// The same of an irregular fabric, with the names of its switches as comments.
[[nodiscard]] std::string cluster_text(const FoundSwitches& found, const ClusterParts& parts,
                                       const ClusterTextRequest& request);

}  // namespace foretrain
