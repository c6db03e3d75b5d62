// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/grid/process_grid.hpp"
#include "models/inputs/job.hpp"
#include "models/step/task_graph.hpp"
#include "sim/flows/link_load.hpp"

namespace foretrain {

/// Where the ranks of a job sit.
struct RankMap {
  explicit RankMap(const Parallel& plan, std::vector<int> gpu_of_rank);

  ProcessGrid grid;
  std::vector<int> gpu;  ///< by rank
  int replica = 1;       ///< ranks of a stage and data replica
  int stage = 1;         ///< ranks of a stage

  /// GPU of a rank by its number within its stage.
  [[nodiscard]] int at(int of_stage, int number) const {
    return gpu[static_cast<std::size_t>(grid.rank(of_stage, number))];
  }
  /// GPUs of the members of a group. @param first its lowest rank
  [[nodiscard]] std::vector<int> members(const Group& group, int first) const;
};

/// Exchanges between given ranks, for all tasks that make them, whatever their size.
struct Channel {
  std::vector<Exchange> each;  ///< of one task
  StreamKind stream = StreamKind::data;
  int stage = 0;
  int peer = -1;     ///< receiving stage of a transfer or of tied gradients
  int together = 1;  ///< data replicas that take part in one of them
  // Of one task, alone on an idle fabric:
  Seconds latency;
  Seconds wire;  ///< the rest: moving the payload
};

/// What a channel exchanges and between whom: "expert all-to-all".
[[nodiscard]] std::string channel_name(const Channel& channel);

struct StepChannels {
  std::vector<Channel> channels;
  std::vector<std::uint32_t> of_task;  ///< by task id; TaskTraffic::none: no traffic
};

/// The exchanges of a step.
[[nodiscard]] StepChannels step_channels(const Job& job, const TaskGraph& graph);

/// What a stage exchanges inside passes that the graph does not take apart, in a whole step: those
/// of one of them after another, without times.
[[nodiscard]] std::vector<Channel> inside_passes(const Job& job, const TaskGraph& graph);

/// Adds what one of the channel's exchanges sends; `group` counts the sets of replicas that take
/// part in one.
void add_load(const Job& job, const RankMap& ranks, const Channel& channel, int group,
              LoadBuilder& load);

}  // namespace foretrain
