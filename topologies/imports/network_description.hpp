// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topologies/imports/fabric_shape.hpp"
#include "topologies/imports/import_text.hpp"

namespace foretrain {

struct FoundSwitch {
  std::string name;
  int ports = 0;  ///< for cables; 0: the file does not say
  int line = 0;
};

struct FoundHost {
  std::string name;
  int nics = 0;  ///< with a cable
  int line = 0;
};

/// From a NIC to a switch. NICs are numbered by the order of their names.
struct HostCable {
  int host = 0;
  int nic = 0;
  int to = 0;  ///< switch
  double gbit_per_second = 0.0;
  int line = 0;
};

struct SwitchCable {
  int first = 0;
  int second = 0;
  double gbit_per_second = 0.0;
  int line = 0;
};

/// Switches, hosts and every cable between them, as a subnet was found.
struct NetworkDescription {
  std::vector<FoundSwitch> switches;
  std::vector<FoundHost> hosts;
  std::vector<HostCable> host_cables;
  std::vector<SwitchCable> switch_cables;
};

/// What ibnetdiscover prints. Adapters are of one host where their descriptions begin with the same
/// word ("node01 mlx5_0"); the aggregation nodes of switches are left out.
/// Format: linux-rdma/rdma-core, ibnetdiscover(8).
/// @throws ImportError for anything that is no such file, and cables whose ends disagree
[[nodiscard]] NetworkDescription import_ibnetdiscover(std::string_view text, ImportNotes& notes);

/// What iblinkinfo prints, also with --line. Rates there are those of a lane.
/// Format: linux-rdma/rdma-core, iblinkinfo(8).
/// @throws ImportError as above
[[nodiscard]] NetworkDescription import_iblinkinfo(std::string_view text, ImportNotes& notes);

/// Recognises single-switch, leaf-spine, fat-tree, rail-optimized and rail-only networks: the graph
/// is taken apart into planes and tiers, cables are counted, and clos_network must build the same.
/// Hosts with another number of NICs than most are left out and named.
/// @throws ImportError for a network without hosts or in parts
[[nodiscard]] FoundFabric recognise_fabric(const NetworkDescription& network, int gpus_per_host,
                                           ImportNotes& notes);

}  // namespace foretrain
