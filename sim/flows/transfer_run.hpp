// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/simulation.hpp"
#include "sim/flows/flow_network.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// Bytes that a set of GPUs sends to another: weights, caches. Each GPU of the larger set has one
/// counterpart in the other, in order, and all pairs move the same part.
struct PoolTransfer {
  std::vector<int> from;  ///< GPUs of the fabric; not empty
  std::vector<int> to;
  Bytes bytes;          ///< of all pairs
  BytesPerSecond most;  ///< of all pairs: what the transfer reaches alone. Above zero
  Seconds latency;

  [[nodiscard]] Seconds alone() const { return latency + bytes / most; }
};

struct TransferRun {
  std::vector<Seconds> end;  ///< by transfer
  std::vector<Bytes> links;  ///< what crossed, by LinkId
  Seconds time;              ///< until the last has ended
};

/// Plays transfers that begin together on a fabric. One that meets no other, nor itself on a link
/// that gives less, takes alone().
/// @param network capacities by LinkId, e.g. achievable_links(); simulation its routing, seed and
///   connections
/// @return why not where no way is left
[[nodiscard]] std::variant<TransferRun, Infeasible> run_transfers(
    const Fabric& fabric, FlowNetwork network, const Simulation& simulation,
    const std::vector<PoolTransfer>& transfers);

/// The link that was used longest, by its rate in the network; nothing where nothing was.
[[nodiscard]] std::optional<LinkId> fullest_link(const TransferRun& run,
                                                 const FlowNetwork& network);

}  // namespace foretrain
