// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "scenarios/catalog/catalog_entry.hpp"

namespace foretrain {

/// A host's file names its device and links; here they still are names.
struct HostEntry {
  Host host;
  std::string device;
  std::string gpu_link;
  std::string nic;
  std::string pcie;
};

/// A link technology between hosts, with the switches it is built from.
struct FabricPreset {
  std::string name;
  std::string title;
  std::string link_name;
  Link link;             ///< of one NIC
  int switch_radix = 0;  ///< ports of one switch at the NIC's rate
  Transport transport = Transport::gpudirect_rdma;
  Seconds step_latency;                      ///< Network::step_latency
  std::optional<FabricProtocols> protocols;  ///< Network::protocols
  Trust trust = Trust::measured;
  Provenance provenance;
};

/// Each reads a known file and what it names in turn. `prefix` as for read_item().
[[nodiscard]] std::optional<Device> read_device(const CatalogFile& file, const std::string& prefix,
                                                CatalogContext& context);
[[nodiscard]] std::optional<Link> read_link(const CatalogFile& file, const std::string& prefix,
                                            CatalogContext& context);
[[nodiscard]] std::optional<Host> read_host(const CatalogFile& file, const std::string& prefix,
                                            CatalogContext& context);
[[nodiscard]] std::optional<FabricPreset> read_fabric(const CatalogFile& file,
                                                      const std::string& prefix,
                                                      CatalogContext& context);

[[nodiscard]] const FieldTable& device_fields();
[[nodiscard]] const FieldTable& link_fields();
[[nodiscard]] const FieldTable& host_fields();
[[nodiscard]] const BoundTable<FabricPreset>& fabric_table();

}  // namespace foretrain
