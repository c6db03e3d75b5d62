// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/inputs/cluster.hpp"
#include "topologies/imports/fabric_shape.hpp"
#include "topologies/imports/import_text.hpp"

namespace foretrain {

enum class NicTechnology { unknown, infiniband, ethernet, socket };
FORETRAIN_ENUM_NAMES(NicTechnology, {NicTechnology::unknown, "unknown"},
                     {NicTechnology::infiniband, "InfiniBand"},
                     {NicTechnology::ethernet, "RDMA over Ethernet"},
                     {NicTechnology::socket, "TCP"});

/// A NIC that carries traffic of GPUs.
struct FoundNic {
  std::string name;              ///< mlx5_0
  double gbit_per_second = 0.0;  ///< 0: the file does not say
  NicTechnology technology = NicTechnology::unknown;
};

/// What the file of another tool says about one host. Zero and empty mean that it does not say.
struct HostDescription {
  int gpus = 0;
  std::string pci_device;      ///< of a GPU, as "0x10de:0x2330"
  int compute_capability = 0;  ///< 90 for sm_90
  ScaleUpKind scale_up = ScaleUpKind::pcie;
  int nvlink_lanes = 0;         ///< of one GPU, all together
  std::vector<GpuPair> pairs;   ///< nvlink_mesh only
  double pcie_transfers = 0.0;  ///< GT/s of a GPU's own link
  int pcie_width = 0;           ///< its lanes
  std::vector<FoundNic> nics;   ///< alike, by name
  int cpu_threads = 0;          ///< of all NUMA domains
  int numa_domains = 0;
};

/// The topology that NCCL writes into NCCL_TOPO_DUMP_FILE, of one host. NICs that share no PCIe
/// switch with a GPU, where others do, and slower ones are left out and named.
/// Format: NVIDIA/nccl src/graph/xml.cc (elements and attributes), docs of NCCL_TOPO_DUMP_FILE.
/// @throws ImportError for anything that is no such file, GPUs that differ, and several hosts
[[nodiscard]] HostDescription import_nccl_xml(std::string_view text, ImportNotes& notes);

/// The matrix that `nvidia-smi topo -m` prints, legends included or not. It does not say what the
/// GPUs are, nor how fast NICs are.
/// @throws ImportError for anything that is no such matrix, and for lanes that differ by direction
[[nodiscard]] HostDescription import_nvidia_smi(std::string_view text, ImportNotes& notes);

/// Lanes between GPUs as one kind of link: all GPUs alike through switches, a mesh, or none.
/// `lanes[i][j]` joins GPUs i and j. More lanes than a GPU has mean that a switch shares them:
/// 18 is the most any GPU has (NVLink 4 and 5).
void judge_lanes(const std::vector<std::vector<int>>& lanes, HostDescription& host);

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
