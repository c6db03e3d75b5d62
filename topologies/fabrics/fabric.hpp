// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/base/quantity.hpp"
#include "models/inputs/cluster.hpp"
#include "topologies/fabrics/clos.hpp"
#include "topologies/fabrics/switch_graph.hpp"

namespace foretrain {

using NodeId = std::int32_t;
/// One direction of a cable. The other direction is `link ^ 1`.
using LinkId = std::int32_t;

/// The sixteen NVLink connections of a DGX-1 with V100: six lanes per GPU in a hybrid cube mesh.
/// Source: NVIDIA DGX-1 with Tesla V100 white paper (WP-08437-002), figure of the cube mesh, and
/// the NV1/NV2 matrix that nvidia-smi topo prints on it.
[[nodiscard]] std::vector<GpuPair> dgx1_pairs();

/// What is inside every host of a fabric. Rates are per direction.
struct HostShape {
  int gpus = 8;
  ScaleUpKind scale_up = ScaleUpKind::nvswitch;
  BytesPerSecond gpu_link;  ///< of one GPU, all its scale-up lanes together
  BytesPerSecond pcie;      ///< of one GPU to its NICs
  int nics = 8;             ///< NIC i belongs to GPU i * gpus / nics, or is shared by gpus / nics
  BytesPerSecond nic;
  std::vector<GpuPair> pairs;  ///< nvlink_mesh only; empty: every two GPUs, with equal lanes
  /// Of a NIC, each with a cable of its own: `nics` counts every port, `nic` is the rate of one.
  int ports = 1;
};

/// Tiers of switches; every cable runs at the NIC's rate. Sized by clos_network.
struct ClosShape {
  FabricKind kind = FabricKind::rail_optimized;  ///< not dragonfly or torus
  int switch_radix = 64;
  double oversubscription = 1.0;        ///< of leaves, >= 1
  double spine_oversubscription = 1.0;  ///< of spines below cores, >= 1
  /// One separate network per NIC of a host; rails meet only inside hosts. `kind` is that of one.
  bool rail_only = false;
  /// The leaves of all ports of a NIC meet in one network; else every port has its own.
  bool joined_ports = false;
};

/// std::monostate: one host without a network. Irregular networks are shared: they are lists of
/// every NIC and cable.
struct FabricSpec {
  int hosts = 1;
  HostShape host;
  std::variant<std::monostate, ClosShape, DragonflyShape, TorusShape,
               std::shared_ptr<const IrregularShape>>
      network;
  int domain_hosts = 1;   ///< hosts whose GPUs one NVSwitch fabric joins; the last may join fewer
  int domain_places = 1;  ///< hosts that such a domain has where it is whole; told, not modelled

  [[nodiscard]] Packing packing() const { return {host.gpus, domain_hosts * host.gpus}; }
};

/// host_switch is the NVSwitch fabric of a scale-up domain, drawn as one switch: of a host, or of
/// several; the PCIe switch of a host where GPUs have no NVLink. All switches of an irregular
/// network are leaves.
enum class NodeKind : std::uint8_t { gpu, host_switch, nic, leaf, spine, core };
inline constexpr std::size_t node_kinds = 6;

enum class LinkKind : std::uint8_t {
  gpu_link,    ///< GPU to host switch, or GPU to GPU in a mesh
  pcie,        ///< to a NIC
  nic,         ///< NIC to leaf or router
  leaf_spine,  ///< and the cables inside a dragonfly group
  spine_core,
  global,  ///< between groups of a dragonfly
  ring,    ///< of a torus
  trunk    ///< between switches of an irregular network
};
FORETRAIN_ENUM_NAMES(LinkKind, {LinkKind::gpu_link, "gpu link"}, {LinkKind::pcie, "pcie"},
                     {LinkKind::nic, "nic"}, {LinkKind::leaf_spine, "leaf-spine"},
                     {LinkKind::spine_core, "spine-core"}, {LinkKind::global, "global"},
                     {LinkKind::ring, "ring"}, {LinkKind::trunk, "trunk"});

/// Every node and every one-way link of a cluster, as plain arrays. Nodes come in blocks: GPUs in
/// rank order first, then host switches, NICs host by host, leaves (routers), spines, cores. Links
/// come in pairs: an even link climbs away from the GPUs (between switches of an irregular network,
/// leaves the first of the pair), and link ^ 1 is the same cable back.
struct Fabric {
  FabricSpec spec;
  ClosNetwork clos;      ///< of one plane; sized only for a ClosShape
  int planes = 1;        ///< separate networks: of NICs where rail_only, or of their ports
  SwitchGraph switches;  ///< irregular networks; cable end e is link first_tier + e

  std::array<NodeId, node_kinds + 1> node_begin{};  ///< first node of each kind, then the end
  std::vector<NodeId> from;                         ///< these four by LinkId
  std::vector<NodeId> to;
  std::vector<double> capacity;  ///< byte/s
  std::vector<LinkKind> kind;

  int links_per_host = 0;     ///< host h has links [h * links_per_host, (h + 1) * links_per_host)
  LinkId first_nic_link = 0;  ///< NIC n goes up on first_nic_link + 2 * n
  LinkId first_tier = 0;      ///< cables of leaves, dragonfly groups, or torus rings
  LinkId second_tier = 0;     ///< cables of spines, or between dragonfly groups
  /// nvlink_mesh: by (GPU, GPU) of a host, the link relative to the host's first, or -1.
  std::vector<int> mesh_link;

  [[nodiscard]] int gpus() const { return spec.hosts * spec.host.gpus; }
  [[nodiscard]] int links() const { return static_cast<int>(from.size()); }
  [[nodiscard]] int nodes() const { return node_begin[node_kinds]; }
  [[nodiscard]] int count(NodeKind of) const {
    return node_begin[static_cast<std::size_t>(of) + 1] - node_begin[static_cast<std::size_t>(of)];
  }
  [[nodiscard]] NodeId node(NodeKind of, int index) const {
    return node_begin[static_cast<std::size_t>(of)] + index;
  }
  [[nodiscard]] NodeKind kind_of(NodeId node) const;
};

/// Builds a fabric; memory and time grow with GPUs and cables.
/// @return one clear reason where the network cannot connect that many hosts, a link has no
///   bandwidth, or a mesh leaves GPUs of a host more than two NVLinks apart.
/// @pre hosts, gpus >= 1; nics >= 1 where there is a network
[[nodiscard]] std::variant<Fabric, Infeasible> build_fabric(const FabricSpec& spec);

/// What a cluster of a scenario is made of. Rates are the datasheet's.
[[nodiscard]] FabricSpec fabric_spec(const Cluster& cluster);

/// Why a job of that many ranks cannot run on the fabric.
[[nodiscard]] std::optional<Infeasible> too_small(const Fabric& fabric, int ranks);

/// "gpu12" (a rank), "nvswitch3" (a domain) or "pcie3" (a host), "nic3.2" (host, NIC), "leaf5" (or
/// "router5", "switch5"), "spine7", "core0".
[[nodiscard]] std::string node_name(const Fabric& fabric, NodeId node);
/// The node of such a name; nothing where there is none.
[[nodiscard]] std::optional<NodeId> find_node(const Fabric& fabric, std::string_view name);
/// "leaf5>spine7"; a parallel cable adds its number: "leaf5>spine7#1".
[[nodiscard]] std::string link_name(const Fabric& fabric, LinkId link);

/// Links that are down, by LinkId.
using LinkSet = std::vector<bool>;

/// Links lost by a list of names: a node ("spine7": all its links), a host or compute tray of a
/// rack ("host3", "tray3": all links of its GPUs and NICs), a cable ("leaf5-spine7": both
/// directions of all parallel cables; "leaf5-spine7#1": of one), or one direction ("leaf5>spine7").
/// @return the first name that is neither, with what names there are.
[[nodiscard]] std::variant<LinkSet, Infeasible> failed_links(const Fabric& fabric,
                                                             const std::vector<std::string>& names);

}  // namespace foretrain
