// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/base/provenance.hpp"
#include "models/collectives/collective_choice.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Small enough that only what does not depend on the payload is left of a price, and so large
/// that only what does is.
inline constexpr Bytes next_to_nothing{1e-6};

/// What hand-overs cost: `base` once per collective, a latency per step, and what one member
/// reaches.
struct HandOver {
  Seconds base;
  Seconds inside_step;
  Seconds across_step;
  BytesPerSecond inside;     ///< to members of the same host
  BytesPerSecond across;     ///< to other hosts, over the member's own NIC
  BytesPerSecond in_switch;  ///< into a host's adding switch, and back; 0: it does not add
};

/// NCCL's hand-overs in one protocol, read off the cost model of collective_choice.hpp: its
/// all-gather between two lone ranks is one step between hosts, its all-reduce by the switch of one
/// host says what that switch takes.
[[nodiscard]] HandOver nccl_hand_over(CollectiveOp op, Protocol protocol, const CommGroup& group,
                                      const CollectivePath& path);

/// A collective library other than NCCL on one machine.
struct OtherLibrary {
  HandOver hand_over;
  BytesPerSecond host_copy;   ///< of every member's payload to host memory, and back; 0: no copies
  bool through_host = false;  ///< everything goes through host memory, nothing over NVLink
  Provenance provenance;
};

/// gloo over TCP, or a CUDA-aware Open MPI. @pre backend is not nccl
[[nodiscard]] OtherLibrary other_library(Backend backend, const CollectivePath& path);

/// A cluster as seen over another transport than the one its preset was measured with.
struct TransportChange {
  Cluster cluster;
  Provenance provenance;  ///< of what changed; source empty: nothing did
  std::string refusal;    ///< why there is no such cluster; empty: there is
};

/// GPUDirect RDMA to RDMA through host memory: every byte crosses the PCIe uplink that a GPU shares
/// with its NIC once more in each direction, so half of what PCIe reaches is left, and two more
/// PCIe crossings of latency per step. The way back, and to or from TCP, is another preset.
[[nodiscard]] TransportChange with_transport(const Cluster& cluster, Transport transport);

}  // namespace foretrain
