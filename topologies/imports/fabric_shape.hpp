// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/inputs/cluster.hpp"
#include "topologies/fabrics/clos.hpp"
#include "topologies/imports/slurm_topology.hpp"

namespace foretrain {

/// A regular network: what `cluster.fabric` of a scenario has to say to get it.
struct FabricShape {
  FabricKind kind = FabricKind::fat_tree;
  int hosts = 0;
  int nics_per_host = 0;
  int switch_radix = 0;
  double oversubscription = 1.0;
  double spine_oversubscription = 1.0;
  ClosNetwork network;  ///< as clos_network sizes it from the above; of one rail where rail-only
  double gbit_per_second = 0.0;  ///< of a NIC; 0: not known
};

/// A network cable by cable, its switches in the order of the file.
struct FoundSwitches {
  IrregularShape shape;
  int nics_per_host = 0;
  double gbit_per_second = 0.0;  ///< of a NIC; 0: not known
  std::vector<std::string> names;
  std::string refused;  ///< why it cannot be taken so; else empty
};

/// A network that no regular kind of Foretrain's builds.
struct IrregularFabric {
  std::string switch_name;  ///< that breaks the pattern
  int line = 0;             ///< where it stands
  std::string reason;
  std::optional<FabricShape> nearest;  ///< a regular network that comes close
  std::string difference;              ///< what of it is not so
  /// The network cable by cable; nothing where the file does not say so much.
  std::optional<FoundSwitches> found;
};

using FoundFabric = std::variant<FabricShape, IrregularFabric>;

/// What a description of switches leaves open.
struct ShapeRequest {
  int nics_per_host = 0;
  int gpus_per_host = 0;
  int switch_radix = 0;  ///< of the preset: taken where it fits
  std::optional<FabricKind> kind;
  std::optional<double> oversubscription;
};

/// The network behind a tree of switches. A leaf whose NICs do not fit on one switch is a unit of
/// rails. What the tree does not say goes to notes.assumed.
/// @throws ImportError where there is no network of the kind that the request names
[[nodiscard]] FoundFabric shape_of_tree(const SwitchTree& tree, const ShapeRequest& request,
                                        ImportNotes& notes);

/// Switch sizes tried, in this order: the preferred one, then from small to large.
[[nodiscard]] std::vector<int> radix_candidates(int preferred);

}  // namespace foretrain
