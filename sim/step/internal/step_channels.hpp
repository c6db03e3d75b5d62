// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "models/base/names.hpp"
#include "models/grid/process_grid.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/inputs/job.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/task_graph.hpp"
#include "sim/flows/link_load.hpp"

namespace foretrain {

/// Exchanges of a training step.
enum class ChannelKind : std::uint8_t {
  gradients,
  weights,  ///< updated weights, once per step
  shards,   ///< of weights and gradients in every pass (ZeRO-2 and 3, FSDP)
  tied,     ///< gradients of an embedding that both ends of the pipeline share
  transfer,
  tensor,
  expert_tensor,
  context,
  expert
};
FORETRAIN_ENUM_NAMES(ChannelKind, {ChannelKind::gradients, "gradients"},
                     {ChannelKind::weights, "weights"}, {ChannelKind::shards, "shards"},
                     {ChannelKind::tied, "tied embedding"}, {ChannelKind::transfer, "transfer"},
                     {ChannelKind::tensor, "tensor"}, {ChannelKind::expert_tensor, "expert tensor"},
                     {ChannelKind::context, "context"}, {ChannelKind::expert, "expert"});

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

/// One exchange between given ranks, for all tasks that do it, whatever their size.
struct Channel {
  ChannelKind kind = ChannelKind::transfer;
  StreamKind stream = StreamKind::data;
  int stage = 0;
  int peer = -1;     ///< receiving stage of a transfer or of tied gradients
  int together = 1;  ///< data replicas that take part in one of them
  // Of one task, alone on an idle fabric:
  Seconds latency;
  Seconds wire;   ///< the rest: moving the payload
  Bytes payload;  ///< as the cost model counts it; gradients: of the dense weights
  Bytes experts;  ///< gradients, weights: of the experts
};

struct StepChannels {
  std::vector<Channel> channels;
  std::vector<std::uint32_t> of_task;  ///< by task id; TaskTraffic::none: no traffic
};

/// The exchanges of a step. @param job as the graph was priced
[[nodiscard]] StepChannels step_channels(const Job& job, const StageLayout& layout,
                                         const TaskGraph& graph);

/// Adds what one of the channel's exchanges sends; `group` counts the sets of replicas that take
/// part in one.
void add_load(const Job& job, const RankMap& ranks, const Channel& channel, int group,
              LoadBuilder& load);

}  // namespace foretrain
