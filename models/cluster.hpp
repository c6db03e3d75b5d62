// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "models/collective_protocols.hpp"
#include "models/device.hpp"
#include "models/names.hpp"
#include "models/provenance.hpp"
#include "models/quantity.hpp"

namespace foretrain {

/// A point-to-point link. Rates are per direction.
struct Link {
  std::string name;
  std::string title;
  BytesPerSecond bandwidth;  ///< datasheet payload rate
  Seconds latency;           ///< one hop, hardware only
  double achievable = 1.0;   ///< share of the datasheet rate that large messages reach, measured
};

enum class ScaleUpKind { nvswitch, nvlink_mesh, pcie };
FORETRAIN_ENUM_NAMES(ScaleUpKind, {ScaleUpKind::nvswitch, "nvswitch"},
                     {ScaleUpKind::nvlink_mesh, "nvlink-mesh"}, {ScaleUpKind::pcie, "pcie"});

/// A server: devices, the links between them, and the way out.
struct Host {
  std::string name;
  std::string title;
  Device device;
  int gpus = 8;
  ScaleUpKind scale_up = ScaleUpKind::nvswitch;
  Link gpu_link;  ///< per GPU, all its scale-up links together
  int nics = 8;
  Link nic;   ///< per NIC, when no fabric preset replaces it
  Link pcie;  ///< GPU to CPU memory
  int cpu_cores = 0;
  Bytes cpu_memory;
  BytesPerSecond storage_read;  ///< local scratch; 0: unknown
};

enum class FabricKind { fat_tree, rail_optimized, leaf_spine, dragonfly, torus, single_switch };
FORETRAIN_ENUM_NAMES(FabricKind, {FabricKind::fat_tree, "fat-tree"},
                     {FabricKind::rail_optimized, "rail-optimized"},
                     {FabricKind::leaf_spine, "leaf-spine"}, {FabricKind::dragonfly, "dragonfly"},
                     {FabricKind::torus, "torus"}, {FabricKind::single_switch, "single-switch"});

enum class Transport { gpudirect_rdma, rdma, tcp };
FORETRAIN_ENUM_NAMES(Transport, {Transport::gpudirect_rdma, "gpudirect-rdma"},
                     {Transport::rdma, "rdma"}, {Transport::tcp, "tcp"});

/// The network between hosts as the closed form sees it. Graphs live in `topologies`.
struct Network {
  FabricKind kind = FabricKind::rail_optimized;
  std::string preset;  ///< catalog name, e.g. ib-ndr
  std::string title;
  Link nic_link;                  ///< one NIC of this fabric; NICs per host come from the host
  double oversubscription = 1.0;  ///< host bandwidth into a leaf over its uplink bandwidth
  Transport transport =
      Transport::gpudirect_rdma;  ///< what the preset's figures were measured with
  int hosts_per_leaf = 0;  ///< hosts below one leaf switch (one pod of rails); 0: all of them
  int switch_levels = 1;   ///< tiers of switches a worst-case path climbs
  Seconds path_latency;    ///< NIC to NIC over the longest minimal path
  /// Measured extra latency of one collective step between hosts (NCCL proxy, plug-in), on top of
  /// path_latency; from size sweeps, see topologies/catalog/fabrics.
  Seconds step_latency;
  /// Collectives alone, where size sweeps over this fabric were measured.
  std::optional<FabricProtocols> protocols = std::nullopt;
  Provenance provenance;  ///< of the preset
};

/// The machine a job runs on.
struct Cluster {
  Host host;
  int hosts = 0;
  Network network;

  [[nodiscard]] int gpus() const { return hosts * host.gpus; }
  /// Datasheet rate out of a host divided by its GPUs.
  [[nodiscard]] BytesPerSecond inter_host_bandwidth_per_gpu() const {
    return network.nic_link.bandwidth * (static_cast<double>(host.nics) / host.gpus);
  }
};

}  // namespace foretrain
