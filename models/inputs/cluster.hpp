// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/provenance.hpp"
#include "models/base/quantity.hpp"
#include "models/inputs/device.hpp"

namespace foretrain {

/// How a collective library marks data as arrived: flags inside every 8 or 128 bytes (NCCL's LL and
/// LL128), or one flag per chunk (Simple). From least latency to most bandwidth.
enum class Protocol : std::uint8_t { ll, ll128, simple };
FORETRAIN_ENUM_NAMES(Protocol, {Protocol::ll, "ll"}, {Protocol::ll128, "ll128"},
                     {Protocol::simple, "simple"});
inline constexpr std::size_t protocol_count = EnumNames<Protocol>::names.size();

/// Cost of a collective in one protocol within a host: base + steps * step + (traffic + own * a
/// rank's own part) / (share * link rate), traffic and rate those of bus bandwidth.
struct ProtocolLine {
  Seconds base;
  Seconds step;
  double share = 0.0;
};
using ProtocolLines = std::array<ProtocolLine, protocol_count>;

/// Measured cost lines of one device's scale-up links; models/collectives/README.md, "Collective
/// library".
struct CollectiveProtocols {
  ProtocolLines gather;      ///< rings of all-gather and reduce-scatter
  ProtocolLines all_reduce;  ///< rings
  ProtocolLines exchange;    ///< every rank sends to every other: all-to-all
  ProtocolLine in_switch;    ///< all-reduce of 8 ranks in the switch; share 0: there is none
  /// What a rank's own part, which never crosses a link, costs the engines that copy and add, over
  /// as much traffic on the link.
  double gather_own = 0.0;
  double all_reduce_own = 0.0;
  double exchange_own = 0.0;
};

/// One protocol between hosts.
struct HostCrossing {
  Seconds hop;             ///< one step between hosts, switches not included
  double nic_share = 0.0;  ///< of what the NIC delivers to large messages
};

/// Measured cost of collectives over one fabric; models/collectives/README.md, "Collective
/// library".
struct FabricProtocols {
  std::array<HostCrossing, protocol_count> crossing;
  Seconds exchange_post;        ///< all-to-all: per remote rank
  Seconds in_switch_tree_base;  ///< reduction in the hosts' switches and a tree between them
};

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

/// An NVLink connection between two GPUs of one host, by their index in the host.
struct GpuPair {
  int first = 0;
  int second = 1;
  int lanes = 1;
};

/// A server: devices, the links between them, and the way out. NICs, processors and failures are
/// its own; its scale-up links may reach the GPUs of other servers.
struct Host {
  std::string name;
  std::string title;
  Device device;
  int gpus = 8;
  int whole_gpus = 0;    ///< of the server, where the job has a part of it; 0: it has all
  int domain_hosts = 1;  ///< hosts whose GPUs one NVSwitch fabric joins: 18 in a rack of 72 GPUs
  ScaleUpKind scale_up = ScaleUpKind::nvswitch;
  Link gpu_link;  ///< per GPU, all its scale-up links together
  int nics = 8;
  Link nic;   ///< per NIC, when no fabric preset replaces it
  Link pcie;  ///< GPU to CPU memory
  int cpu_cores = 0;
  Bytes cpu_memory;
  BytesPerSecond storage_read;  ///< local scratch; 0: unknown
  Watts power_limit;  ///< published maximum with GPUs, fans and its share of a rack; 0: unknown
  std::vector<GpuPair> pairs;  ///< nvlink_mesh; empty: every two GPUs, with equal lanes
};

/// The first `gpus` GPUs of a host, as a scheduler hands them out: with the links between them and
/// their shares of NICs (one at least), processors, memory, disks and power.
/// @pre 1 <= gpus <= host.gpus
[[nodiscard]] inline Host part_of(Host host, int gpus) {
  const double share = static_cast<double>(gpus) / host.gpus;
  if (gpus == host.gpus) return host;
  host.whole_gpus = host.gpus;
  host.gpus = gpus;
  host.nics = std::max(1, host.nics * gpus / host.whole_gpus);
  host.cpu_cores = static_cast<int>(share * host.cpu_cores);
  host.cpu_memory = share * host.cpu_memory;
  host.storage_read = share * host.storage_read;
  host.power_limit = share * host.power_limit;
  std::erase_if(host.pairs,
                [&](const GpuPair& pair) { return std::max(pair.first, pair.second) >= gpus; });
  // What no bridge joins meets over PCIe.
  const bool bridged = host.scale_up != ScaleUpKind::nvlink_mesh || !host.pairs.empty();
  if (gpus > 1 && !bridged) {
    host.scale_up = ScaleUpKind::pcie;
    host.gpu_link = host.pcie;
  }
  return host;
}

/// Servers and GPUs of each.
struct HostShare {
  int hosts = 0;
  int gpus_per_host = 0;
};

/// How a number of GPUs is taken from servers with `per_host` each: whole ones, a part of one, or
/// the same part of each, more than half. Nothing where it is none of these.
[[nodiscard]] constexpr std::optional<HostShare> share_of(int gpus, int per_host) {
  if (gpus <= per_host) return HostShare{1, gpus};
  const int hosts = (gpus + per_host - 1) / per_host;
  for (int each = hosts; 2 * gpus > each * per_host; ++each)
    if (gpus % each == 0) return HostShare{each, gpus / each};
  return std::nullopt;
}

enum class FabricKind {
  fat_tree,
  rail_optimized,
  rail_only,  ///< one separate network per rail (Wang et al., arXiv 2307.12169)
  leaf_spine,
  dragonfly,
  torus,
  single_switch,
  irregular  ///< switches joined in any way, cable by cable
};
FORETRAIN_ENUM_NAMES(FabricKind, {FabricKind::fat_tree, "fat-tree"},
                     {FabricKind::rail_optimized, "rail-optimized"},
                     {FabricKind::rail_only, "rail-only"}, {FabricKind::leaf_spine, "leaf-spine"},
                     {FabricKind::dragonfly, "dragonfly"}, {FabricKind::torus, "torus"},
                     {FabricKind::single_switch, "single-switch"},
                     {FabricKind::irregular, "irregular"});

enum class Transport { gpudirect_rdma, rdma, tcp };
FORETRAIN_ENUM_NAMES(Transport, {Transport::gpudirect_rdma, "gpudirect-rdma"},
                     {Transport::rdma, "rdma"}, {Transport::tcp, "tcp"});

/// Groups of routers, all groups joined pairwise by global cables; every cable at the NIC's rate.
/// Sizes and names as in Kim, Dally, Scott, Abts, ISCA 2008; `plus` as in Shpiner et al., HiPINEB
/// 2017: a group is leaves and as many spines, fully joined, and global cables leave the spines.
struct DragonflyShape {
  int groups = 0;
  int routers = 0;          ///< of a group (a); with `plus` the leaves, and as many spines
  int nics_per_router = 0;  ///< p, a multiple of the host's NICs or a divisor of it
  int global_ports = 0;     ///< of a router, or with `plus` of a spine (h)
  bool plus = false;
};

/// A ring per dimension, one router per host; all NICs of a host join its router.
struct TorusShape {
  std::vector<int> size;   ///< two or three dimensions, each >= 2; their product is the hosts
  BytesPerSecond channel;  ///< of one cable between neighbours
};

/// Two switches and the cables between them, each at the NIC's rate.
struct SwitchPair {
  int first = 0;
  int second = 1;
  int cables = 1;
};

/// A network as it was found: which switch every NIC is plugged into, and which switches are
/// joined.
struct IrregularShape {
  std::vector<int> nics;  ///< switch by NIC, host by host; switches are numbered from 0
  std::vector<SwitchPair> cables;
};

/// Where the leaves of a NIC's ports meet: in a network of their own for each port, or in one.
enum class PortPlanes : std::uint8_t { separate, joined };
FORETRAIN_ENUM_NAMES(PortPlanes, {PortPlanes::separate, "separate"},
                     {PortPlanes::joined, "joined"});

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
  Provenance provenance;                ///< of the preset
  int switch_radix = 64;                ///< ports of one switch at the NIC's rate
  double spine_oversubscription = 1.0;  ///< of spines below cores, as oversubscription of leaves
  int hosts_per_pod = 0;                ///< hosts below the spines of one pod; 0: all of them
  int nic_ports = 1;  ///< of a NIC, each with an equal part of its rate and a leaf of its own
  PortPlanes planes = PortPlanes::separate;  ///< of these ports
  int connected = 0;         ///< hosts it joins, other jobs' included; 0: those of the job
  int nics_per_host = 0;     ///< stated in place of the host's; 0: as many as the host has
  BytesPerSecond nic_rate;   ///< stated in place of the preset's; 0: as the preset
  DragonflyShape dragonfly;  ///< kind dragonfly only
  TorusShape torus;          ///< kind torus only
  std::shared_ptr<const IrregularShape> irregular;  ///< kind irregular only
  /// Prices include what flows that meet leave each other; false where an engine lets them meet.
  bool contended = true;
  /// Collectives alone, where size sweeps over this fabric were measured.
  std::optional<FabricProtocols> protocols = std::nullopt;
};

/// How many GPUs lie side by side on each level of a machine whose ranks are numbered host by host,
/// domain by domain.
struct Packing {
  int host = 1;
  int domain = 1;  ///< joined by scale-up links: of one host, or of several; a multiple of `host`
};

/// Hosts of each scale-up domain that a job of `hosts` uses: all where they fit into one; else the
/// largest part of a domain, more than half, that divides them evenly, which is the segment that
/// NVIDIA's launchers ask Slurm for; else whole domains, of which the last is used in part.
/// Source: topologies/README.md, "Scale-up domains". @pre hosts, domain_hosts >= 1
[[nodiscard]] constexpr int usual_segment(int hosts, int domain_hosts) {
  if (hosts <= domain_hosts) return hosts;
  for (int part = domain_hosts; 2 * part > domain_hosts; --part)
    if (hosts % part == 0) return part;
  return domain_hosts;
}

/// The machine a job runs on.
struct Cluster {
  Host host;
  int hosts = 0;
  Network network;
  /// Hosts of each scale-up domain that the job uses, from the scenario; 0: usual_segment().
  int segment = 0;

  [[nodiscard]] int gpus() const { return hosts * host.gpus; }
  /// Hosts of each scale-up domain that the job uses; 1 where every host is its own domain.
  [[nodiscard]] int segment_hosts() const {
    if (host.domain_hosts <= 1) return 1;
    return segment > 0 ? segment : usual_segment(std::max(1, hosts), host.domain_hosts);
  }
  [[nodiscard]] Packing packing() const { return {host.gpus, segment_hosts() * host.gpus}; }
  /// Hosts of the fabric, those of other jobs included.
  [[nodiscard]] int fabric_hosts() const { return std::max(hosts, network.connected); }
  /// Datasheet rate out of a host divided by its GPUs.
  [[nodiscard]] BytesPerSecond inter_host_bandwidth_per_gpu() const {
    return network.nic_link.bandwidth * (static_cast<double>(host.nics) / host.gpus);
  }
};

}  // namespace foretrain
