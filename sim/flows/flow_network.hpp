// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "models/base/quantity.hpp"

namespace foretrain {

struct Fabric;

/// One-way links; a full-duplex cable is two. A link has no latency: flows carry their own.
struct FlowNetwork {
  std::vector<BytesPerSecond> links;  ///< capacity by link id, above zero
  /// Whose links the first ones are, by LinkId; outlives what is made of the network. Null: they
  /// are no fabric's, or only some of its links.
  const Fabric* fabric = nullptr;
  /// Counts what crosses each link. A caller that knows it anyway saves the time.
  bool metered = true;
};

/// One link that a flow crosses, one step of its route.
struct Hop {
  std::uint32_t link = 0;
  double share = 1.0;  ///< of the flow's bytes that cross this link, above zero
};

/// Bytes that cross all links of a route at one rate. With shares other than one it is a coupled
/// activity, e.g. a collective that loads its links unevenly but moves in step, so that its
/// slowest link sets the pace on all of them.
struct Flow {
  std::vector<Hop> route;  ///< no link twice; empty only for a flow without bytes
  Bytes bytes;
  Seconds latency;      ///< from start() until the first byte asks for a link
  double weight = 1.0;  ///< what it gets of a shared link, relative to other flows
  /// It never goes faster, whatever its links would give: what one queue pair or one collective
  /// reaches by itself. Above zero.
  BytesPerSecond max_rate{std::numeric_limits<double>::infinity()};
  /// A route that FlowSimulation::keep() has, in place of `route`, which is then empty.
  std::uint32_t kept = not_kept;

  static constexpr std::uint32_t not_kept = ~0U;
};

/// What has crossed a link, and for how long at least one flow was on it.
struct LinkRecord {
  Bytes bytes;
  Seconds busy;
};

/// How a task uses the network.
struct TaskTraffic {
  static constexpr std::uint32_t none = ~0U;

  std::uint32_t channel = none;  ///< where its bytes go; none: the task is a timer
  int together = 1;              ///< so many consecutive replicas run the task as one
  Seconds latency;               ///< before the first byte moves
  double amount = 1.0;           ///< times the bytes of the channel's flows
};

/// What the tasks of a graph put on the network. A task with a channel starts all flows of that
/// channel at once and ends with the last of them: one flow with shares for a coupled collective,
/// several for one taken apart.
class TrafficSource {
 public:
  TrafficSource() = default;
  TrafficSource(const TrafficSource&) = delete;
  TrafficSource& operator=(const TrafficSource&) = delete;
  virtual ~TrafficSource() = default;

  [[nodiscard]] virtual TaskTraffic of(std::uint32_t task) const = 0;
  /// Flows of a channel for the replicas from group * together on. A flow without route lasts as
  /// long as its max_rate needs. Valid until the next call.
  [[nodiscard]] virtual const std::vector<Flow>& flows(std::uint32_t channel, int group) = 0;
  /// The channel's flows start, and have moved `amount` of their bytes; one after the other.
  virtual void started(std::uint32_t channel, int group, Seconds now) = 0;
  virtual void moved(std::uint32_t channel, int group, double amount, Seconds now) = 0;
};

/// Traffic written down task by task, every pattern a channel.
struct TrafficMap {
  static constexpr std::uint32_t none = ~0U;

  std::vector<std::vector<Flow>> patterns;  ///< none of them without flows
  std::vector<std::uint32_t> of_task;       ///< pattern by task id, or `none`; empty: none for all
};

}  // namespace foretrain
