// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "models/base/quantity.hpp"
#include "sim/flows/flow_network.hpp"

namespace foretrain {

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
