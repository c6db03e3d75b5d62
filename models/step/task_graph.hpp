// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/quantity.hpp"
#include "models/grid/process_grid.hpp"
#include "models/layers/pass_times.hpp"
#include "models/schedules/schedule.hpp"

namespace foretrain {

enum class TaskKind : std::uint8_t { compute, flow, collective, delay, memory };
FORETRAIN_ENUM_NAMES(TaskKind, {TaskKind::compute, "compute"}, {TaskKind::flow, "flow"},
                     {TaskKind::collective, "collective"}, {TaskKind::delay, "delay"},
                     {TaskKind::memory, "memory"});

/// Streams of one rank: tasks of one stream run one after another, in the order of their ids.
enum class StreamKind : std::uint8_t { compute, tensor, data, send, receive, copy, expert };
FORETRAIN_ENUM_NAMES(StreamKind, {StreamKind::compute, "compute"}, {StreamKind::tensor, "tensor"},
                     {StreamKind::data, "data"}, {StreamKind::send, "send"},
                     {StreamKind::receive, "receive"}, {StreamKind::copy, "copy"},
                     {StreamKind::expert, "expert"});

/// Exchanges that go on beside passes or beside all of a layer, not beside a kernel of it.
[[nodiscard]] constexpr bool beside_layers(StreamKind stream) {
  return stream == StreamKind::data || stream == StreamKind::expert;
}

/// What a task is for: one row of the breakdown, one colour of a picture.
enum class TaskRole : std::uint8_t {
  forward,
  backward,
  input_gradient,
  weight_gradient,
  tensor,
  context,
  expert,
  transfer,   ///< activation or its gradient between stages
  gradients,  ///< reduction over the data-parallel ranks
  weights,    ///< gathering of sharded or updated weights
  optimizer,
  input,
  offload,
  constant  ///< fixed cost of a step
};
FORETRAIN_ENUM_NAMES(TaskRole, {TaskRole::forward, "forward"}, {TaskRole::backward, "backward"},
                     {TaskRole::input_gradient, "input gradient"},
                     {TaskRole::weight_gradient, "weight gradient"}, {TaskRole::tensor, "tensor"},
                     {TaskRole::context, "context"}, {TaskRole::expert, "expert"},
                     {TaskRole::transfer, "transfer"}, {TaskRole::gradients, "gradients"},
                     {TaskRole::weights, "weights"}, {TaskRole::optimizer, "optimizer"},
                     {TaskRole::input, "input"}, {TaskRole::offload, "offload"},
                     {TaskRole::constant, "constant"});

inline constexpr std::uint32_t no_exchange = UINT32_MAX;

/// Duration and make-up of all tasks that cost the same; tasks point to it by `cost`.
struct TaskCost {
  std::string name;  ///< for traces, e.g. "layer", "QKV product", "gradients"
  Seconds duration;
  TimeParts parts;  ///< of a compute task; sums to its duration
  Bytes bytes;      ///< moved by a flow, collective or copy
  /// What is exchanged: by a flow or collective, or inside a pass that is one task. Index into
  /// TaskGraph::exchanges; no_exchange: nothing.
  std::uint32_t exchange = no_exchange;
  double share = 1.0;  ///< of those exchanges' payloads
};

struct Task {
  TaskKind kind = TaskKind::compute;
  StreamKind stream = StreamKind::compute;
  TaskRole role = TaskRole::forward;
  std::uint32_t cost = 0;  ///< index into TaskGraph::costs
  std::int32_t rank = 0;   ///< pipeline stage
  std::int32_t peer = -1;  ///< other end of a flow
  std::int32_t micro = -1;
  std::int32_t chunk = 0;
  std::int32_t layer = -1;  ///< within the chunk, at layer detail
};

/// Whether a task is of a pass of a micro-batch, exchanges inside it included.
[[nodiscard]] constexpr bool inside_pass(const Task& task) {
  return task.micro >= 0 && task.role != TaskRole::transfer;
}

/// How far passes are taken apart.
enum class Detail : std::uint8_t { pass, layer, op };
FORETRAIN_ENUM_NAMES(Detail, {Detail::pass, "pass"}, {Detail::layer, "layer"},
                     {Detail::op, "operator"});

/// One optimizer step of one replica as a frozen graph. Tensor, context and data ranks of a stage
/// are one rank (they do the same at the same time). Ids are in topological order: every
/// predecessor of a task has a smaller id. Predecessors are stored as compressed rows; those on the
/// same stream of the same rank are included.
struct TaskGraph {
  int ranks = 0;
  bool staggered = false;  ///< ranks begin their next step without waiting for each other
  std::vector<Task> tasks;
  std::vector<TaskCost> costs;
  std::vector<Exchanges> exchanges;
  std::vector<std::uint32_t> first;         ///< tasks.size() + 1 offsets into `predecessors`
  std::vector<std::uint32_t> predecessors;  ///< task ids

  [[nodiscard]] std::span<const std::uint32_t> before(std::uint32_t task) const {
    return {predecessors.data() + first[task], predecessors.data() + first[task + 1]};
  }
  [[nodiscard]] const TaskCost& cost_of(std::uint32_t task) const {
    return costs[tasks[task].cost];
  }
  /// What a task exchanges, all of its cost's share; null: nothing.
  [[nodiscard]] const Exchanges* exchanges_of(const TaskCost& cost) const {
    return cost.exchange == no_exchange ? nullptr : &exchanges[cost.exchange];
  }
};

}  // namespace foretrain
