// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "models/path.hpp"
#include "models/task_graph.hpp"
#include "sim/flow_network.hpp"
#include "sim/flow_simulation.hpp"

namespace foretrain {

/// What tasks put on the network. A task with a pattern starts all its flows at once and ends with
/// the last of them: one flow with shares for a coupled collective, several for one taken apart. A
/// task without takes the duration of its cost, as if nothing were shared.
struct TrafficMap {
  static constexpr std::uint32_t none = ~0U;

  std::vector<std::vector<Flow>> patterns;  ///< none of them without flows
  std::vector<std::uint32_t> of_task;       ///< pattern by task id, or `none`; empty: none for all

  [[nodiscard]] bool has(std::uint32_t task) const {
    return task < of_task.size() && of_task[task] != none;
  }
};

struct ReplayOptions {
  FlowBackend backend = FlowBackend::plug_in;
  /// By this share compute runs slower while at least one flow or collective of its rank, or one
  /// that has its rank as peer, is under way: communication kernels take processors and memory
  /// bandwidth away. From 0 to below 1.
  double compute_slowdown = 0.0;
};

struct Replay {
  Timeline timeline;
  std::vector<LinkRecord> links;  ///< by link id of the network
  std::uint64_t events = 0;       ///< flows, timers and stretches of compute that ended
};

/// Plays a task graph in simulated time. A task starts when its last predecessor has ended; flows
/// share links (max_min.hpp); compute is work at a rate. Without patterns and slowdown the result
/// is that of longest_path().
/// @pre patterns exist and their links are in the network; 0 <= compute_slowdown < 1.
[[nodiscard]] Replay replay(const TaskGraph& graph, const FlowNetwork& network,
                            const TrafficMap& traffic, const ReplayOptions& options = {});

}  // namespace foretrain
