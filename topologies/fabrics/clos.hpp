// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <variant>

#include "models/base/prediction.hpp"
#include "models/base/quantity.hpp"
#include "models/inputs/cluster.hpp"

namespace foretrain {

/// What a folded-Clos network is sized from. Every cable runs at the NIC's rate.
struct ClosSpec {
  FabricKind kind = FabricKind::rail_optimized;
  int hosts = 0;
  int nics_per_host = 0;
  int gpus_per_host = 0;
  int switch_radix = 0;           ///< ports of one switch at the NIC's rate
  double oversubscription = 1.0;  ///< host bandwidth into a leaf over its uplink bandwidth, >= 1
  Link link;                      ///< one NIC; its latency is charged per cable crossed
  double spine_oversubscription = 1.0;  ///< the same of a spine below cores, >= 1
};

/// The smallest network of a kind that connects a cluster. How it is sized: topologies/README.md.
struct ClosNetwork {
  int tiers = 1;  ///< of switches: leaves; and spines; and cores
  int leaves = 1;
  int spines = 0;  ///< of all pods together
  int cores = 0;
  int pods = 1;            ///< groups of leaves with their own spines; 1 below three tiers
  int leaves_per_pod = 1;  ///< the last pod may hold fewer
  int nics_per_leaf = 0;   ///< the last leaf may hold fewer
  int hosts_per_leaf = 0;  ///< that reach each other below one leaf (per rail); 0: all do
  int hosts_per_pod = 0;   ///< that reach each other below one pod's spines; 0: all do
  int uplinks_per_leaf = 0;
  int uplinks_per_spine = 0;  ///< 0 below three tiers

  /// Tiers climbed between the two most distant NICs of equal index. Collectives keep to these
  /// pairs: on rails NCCL moves data to the right rail inside the host (PXN).
  int switch_levels = 1;
  int longest_hops = 2;  ///< cables on the longest minimal path between any two NICs
  Seconds path_latency;  ///< 2 * switch_levels cables

  /// Share of the NIC rate that all NICs of a leaf get when all of them send to other leaves.
  double cross_leaf_share = 1.0;
  /// The same for all NICs of a pod that send to other pods.
  double cross_pod_share = 1.0;
  /// Across the worst halving of the cluster, per direction, over the GPUs of one half.
  BytesPerSecond bisection_per_gpu;
};

/// Sizes a single-switch, leaf-spine, fat-tree or rail-optimized network, or one rail of a
/// rail-only one; the reason where the kind is not a Clos, or where its tiers of such switches
/// cannot connect that many NICs.
/// @pre hosts, nics_per_host, gpus_per_host >= 1; switch_radix >= 2; both oversubscriptions
///   >= 1.
[[nodiscard]] std::variant<ClosNetwork, Infeasible> clos_network(const ClosSpec& spec);

/// Sets what the closed form reads of the network of a cluster whose other fields are set: switch
/// radix and levels, hosts per leaf and pod, path latency. Knows every kind.
/// @return why there is no such network; the cluster is then unchanged.
/// @pre as for clos_network.
[[nodiscard]] std::optional<Infeasible> size_network(Cluster& cluster, int switch_radix);

}  // namespace foretrain
