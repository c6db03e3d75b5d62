// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/quantity.hpp"
#include "models/collectives/collective_cost.hpp"
#include "models/inputs/cluster.hpp"

namespace foretrain {

enum class CollectiveOp : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  reduce,
  gather,
  scatter,
  send
};
FORETRAIN_ENUM_NAMES(CollectiveOp, {CollectiveOp::all_reduce, "all-reduce"},
                     {CollectiveOp::all_gather, "all-gather"},
                     {CollectiveOp::reduce_scatter, "reduce-scatter"},
                     {CollectiveOp::all_to_all, "all-to-all"},
                     {CollectiveOp::broadcast, "broadcast"}, {CollectiveOp::reduce, "reduce"},
                     {CollectiveOp::gather, "gather"}, {CollectiveOp::scatter, "scatter"},
                     {CollectiveOp::send, "send"});

enum class CollectiveAlgorithm : std::uint8_t { ring, tree, direct, in_switch, in_switch_tree };
FORETRAIN_ENUM_NAMES(CollectiveAlgorithm, {CollectiveAlgorithm::ring, "ring"},
                     {CollectiveAlgorithm::tree, "double binary tree"},
                     {CollectiveAlgorithm::direct, "direct"},
                     {CollectiveAlgorithm::in_switch, "in-switch reduction"},
                     {CollectiveAlgorithm::in_switch_tree, "in-switch reduction and tree"});

/// One way to run a collective and what it takes.
struct CollectiveChoice {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  Protocol protocol = Protocol::simple;
  Seconds time;
  /// Not what the library takes of itself, only when told to, however fast: where one host's switch
  /// adds, NCCL goes from LL and LL128 rings to the switch and never runs Simple rings (H200: from
  /// 2 MiB on; ml-engineering, network README).
  bool on_request = false;
};

/// Every way in which a library like NCCL could run the collective, alone on a healthy fabric: what
/// size sweeps measure. The site's shares and waits describe traffic in training and are not in it.
/// `payload` is the whole buffer: what is summed, gathered, or sent to all ranks together; a send
/// goes between two hosts when the group spans them. Equations: models/collectives/README.md,
/// "Collective library".
/// @pre group.ranks >= 2, payload > 0.
[[nodiscard]] std::vector<CollectiveChoice> collective_choices(CollectiveOp op,
                                                               const CommGroup& group,
                                                               Bytes payload,
                                                               const CollectivePath& path);

/// The fastest of them, as the library's tuner picks by size. One rank costs nothing.
[[nodiscard]] CollectiveChoice collective_choice(CollectiveOp op, const CommGroup& group,
                                                 Bytes payload, const CollectivePath& path);

[[nodiscard]] Seconds collective_time(CollectiveOp op, const CommGroup& group, Bytes payload,
                                      const CollectivePath& path);

}  // namespace foretrain
