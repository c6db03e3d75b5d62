// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <variant>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/collectives/price.hpp"
#include "models/inputs/simulation.hpp"
#include "sim/flows/flow_network.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/routes/routing.hpp"

namespace foretrain {

/// One collective, or a send with its receive, of a program that all ranks run in order.
struct CollectiveCall {
  CollectiveOp op = CollectiveOp::all_reduce;
  Seats seats;  ///< members by GPU of the fabric
  int root = 0;
  Bytes payload;
  CollectivePrice price;      ///< alone on a healthy fabric
  bool through_host = false;  ///< leaves devices through host memory: nothing on NVLink and PCIe
  Seconds at;                 ///< not before this time
  /// Later calls of its members wait until it has ended. An asynchronous call holds up only those
  /// that name it in `waits_for`, as a wait on its handle does.
  bool blocking = true;
  std::vector<std::size_t> waits_for;  ///< earlier calls, by number
};

/// What phases are made of: runs of one setting with the same calls, but for their payloads, find
/// it out once.
struct KnownPhases {
  struct Key {
    std::size_t call = 0;
    const CollectiveScheme* scheme = nullptr;
    std::size_t phase = 0;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::size_t> transfers;
  std::map<Key, Flow> coupled;  ///< of a byte of payload
};

struct CollectiveSetting {
  const Fabric& fabric;
  FlowNetwork network;  ///< capacities by LinkId, e.g. achievable_links()
  std::uint64_t seed = 1;
  RoutingKind routing = RoutingKind::ecmp;
  /// Flows that a transfer between hosts is spread over, each with its own ECMP hash.
  int connections = 1;
  const LinkSet* down = nullptr;
  FlowBackend backend = FlowBackend::plug_in;
  /// Rings and trees step by step, every chunk a flow; a pipelined payload in `chunks` pieces per
  /// channel. Otherwise one flow per edge stands for all its steps.
  bool step_by_step = false;
  int chunks = 16;
  /// A phase with more transfers is one coupled flow over all their links: it moves at the pace of
  /// the link that limits it.
  std::size_t most_flows = 200'000;
  /// Null: every run finds out for itself. The caller's, for this setting and these calls alone.
  KnownPhases* known = nullptr;
};

struct CollectiveRun {
  std::vector<Seconds> start;  ///< by call
  std::vector<Seconds> end;
  std::vector<LinkRecord> links;  ///< by LinkId
  std::uint64_t flows = 0;
};

/// Plays calls on a fabric in which flows share links max-min fair. Every transfer of a phase first
/// waits the phase's latency and then moves at most as fast as its price says, so that a call which
/// meets no one, itself included, takes exactly its price.
/// @return why a call cannot run where a route is missing
/// @pre every GPU of a call is on the fabric; price.phases fit the scheme; waits_for name earlier
///   calls
[[nodiscard]] std::variant<CollectiveRun, Infeasible> run_collectives(
    const CollectiveSetting& setting, const std::vector<CollectiveCall>& calls);

}  // namespace foretrain
