// SPDX-License-Identifier: Apache-2.0
#include "planner/exchange/execution_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/grid/process_grid.hpp"
#include "models/layers/eight_bit_weights.hpp"
#include "models/layers/memory_parameters.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

bool is_data_exchange(const Task& task, const TaskCost& cost) {
  return task.kind == TaskKind::collective && task.stream == StreamKind::data &&
         cost.name != "tied embedding";
}

/// The nodes of one stage, the same for all its ranks but for peers and groups.
class StageTraces {
 public:
  StageTraces(const Job& job, const StageLayout& layout, const StepPath& path)
      : job_{job}, layout_{layout}, graph_{path.graph}, timeline_{path.timeline} {
    nodes_.resize(static_cast<std::size_t>(graph_.ranks));
    for (const Task& task : graph_.tasks)
      if (is_data_exchange(task, graph_.costs[task.cost]))
        exchange_time_[{task.rank, task.role}] += graph_.costs[task.cost].duration;
  }

  /// By stage; peers and tags name stages and tasks.
  const std::vector<std::vector<TraceNode>>& build() {
    for (std::uint32_t task = 0; task < graph_.tasks.size(); ++task) add(task);
    return nodes_;
  }

 private:
  std::vector<TraceNode>& of(int stage) { return nodes_[static_cast<std::size_t>(stage)]; }

  TraceNode plain(std::uint32_t id, std::uint64_t node_id) const {
    const Task& task = graph_.tasks[id];
    const TaskCost& cost = graph_.cost_of(id);
    TraceNode node;
    node.id = node_id;
    node.name = fmt::format("{} {}", name_of(task.role), cost.name);
    if (task.micro >= 0) node.name += fmt::format(" micro {}", task.micro);
    node.start = timeline_.start[id];
    node.duration = cost.duration;
    return node;
  }

  /// Ids: four per task, so that a task's sends and receives have their own.
  static std::uint64_t id_of(std::uint32_t task) { return 1 + std::uint64_t{task} * 4; }

  /// Node of `stage` that ends when the task has; a task of another stage tells by an empty send.
  std::uint64_t end_at(std::uint32_t task, int stage) {
    const Task& of_task = graph_.tasks[task];
    if (of_task.rank == stage) return id_of(task);
    if (of_task.kind == TaskKind::flow && of_task.peer == stage) return id_of(task) + 1;
    if (told_.emplace(task, stage).second) {
      TraceNode send = plain(task, next_extra_++);
      send.name = "end of " + send.name;
      send.kind = TraceNodeKind::send;
      send.duration = Seconds{};
      send.start = timeline_.end[task];
      send.peer = stage;
      send.tag = tag();
      send.waits_for = {id_of(task)};
      TraceNode receive = send;
      receive.id = next_extra_++;
      receive.kind = TraceNodeKind::receive;
      receive.peer = of_task.rank;
      receive.waits_for.clear();
      heard_[{task, stage}] = receive.id;
      of(of_task.rank).push_back(std::move(send));
      of(stage).push_back(std::move(receive));
    }
    return heard_.at({task, stage});
  }

  int tag() { return ++tag_; }

  void add(std::uint32_t id) {
    const Task& task = graph_.tasks[id];
    TraceNode node = plain(id, id_of(id));
    for (const std::uint32_t before : graph_.before(id))
      node.waits_for.push_back(end_at(before, task.rank));
    switch (task.kind) {
      case TaskKind::compute:
      case TaskKind::delay:
        node.kind = TraceNodeKind::compute;
        break;
      case TaskKind::memory:
        node.kind = TraceNodeKind::memory;
        break;
      case TaskKind::flow:
        return add_transfer(std::move(node), task, id);
      case TaskKind::collective:
        exchange(node, task, id);
        break;
    }
    of(task.rank).push_back(std::move(node));
  }

  void add_transfer(TraceNode send, const Task& task, std::uint32_t id) {
    const Parallel& plan = job_.parallel;
    const double parts = plan.sequence || job_.stack.times.scatter_gather ? plan.tensor : 1.0;
    send.kind = TraceNodeKind::send;
    send.bytes = Bytes{2.0 * job_.training.micro_batch * job_.training.sequence / plan.context *
                       job_.model.hidden / parts};
    send.peer = task.peer;
    send.tag = tag();
    TraceNode receive = send;
    receive.id = id_of(id) + 1;
    receive.kind = TraceNodeKind::receive;
    receive.peer = task.rank;
    receive.waits_for.clear();
    of(task.rank).push_back(std::move(send));
    of(task.peer).push_back(std::move(receive));
  }

  /// Gradients and weights of a stage go in parts; bytes in proportion to their times.
  void exchange(TraceNode& node, const Task& task, std::uint32_t id) const {
    const TaskCost& cost = graph_.cost_of(id);
    node.kind = TraceNodeKind::compute;  // exchanges within passes, and of tied embeddings
    if (!is_data_exchange(task, cost)) return;
    const RankParameters held = rank_parameters(job_, layout_, task.rank);
    const bool gradients = task.role == TaskRole::gradients;
    const double each = job_.communication.gradient_dtype == Precision::fp32 ? 4.0 : 2.0;
    const Bytes whole =
        gradients ? Bytes{each * held.total()} : gathered_weight_bytes(job_, held).total();
    const double share = cost.duration / exchange_time_.at({task.rank, task.role});
    const double ranks = ProcessGrid{job_.parallel}.group(GroupKind::data_context).ranks();
    node.kind = TraceNodeKind::collective;
    node.op = !gradients               ? CollectiveOp::all_gather
              : job_.parallel.zero > 0 ? CollectiveOp::reduce_scatter
                                       : CollectiveOp::all_reduce;
    // A rank puts its own part into an all-gather, and the whole buffer into a reduction.
    node.bytes = share * whole / (gradients ? 1.0 : ranks);
    node.group = "data";
  }

  const Job& job_;
  const StageLayout& layout_;
  const TaskGraph& graph_;
  const Timeline& timeline_;
  std::vector<std::vector<TraceNode>> nodes_;
  std::map<std::pair<int, TaskRole>, Seconds> exchange_time_;
  std::set<std::pair<std::uint32_t, int>> told_;
  std::map<std::pair<std::uint32_t, int>, std::uint64_t> heard_;
  std::uint64_t next_extra_ = std::uint64_t{1} << 40U;
  int tag_ = 0;
};

}  // namespace

ExecutionTrace trace_of_step(const Job& job, const StageLayout& layout, const StepPath& path,
                             TraceRanks ranks) {
  const Parallel& plan = job.parallel;
  if (plan.single_process())
    throw UsageError(
        "execution traces cannot represent parallel.processes: per-host (torch.nn.DataParallel): "
        "they "
        "hold a rank per GPU, each with its own process; write per-gpu");
  StageTraces stages(job, layout, path);
  const auto& by_stage = stages.build();
  const ProcessGrid grid{plan};
  const bool every_rank = ranks == TraceRanks::all;
  const int copies = every_rank ? grid.stage_ranks() : 1;
  const auto rank_at = [&](int stage, int number) {
    return every_rank ? grid.rank(stage, number) : stage;
  };
  std::size_t nodes = 0;
  for (const auto& stage : by_stage) nodes += stage.size() * static_cast<std::size_t>(copies);
  if (nodes > most_trace_nodes)
    throw UsageError(fmt::format(
        "a trace of all {} ranks has {} nodes, more than {}; --one-replica writes one per stage",
        copies * static_cast<int>(by_stage.size()), nodes, most_trace_nodes));
  ExecutionTrace trace;
  trace.ranks.resize(by_stage.size() * static_cast<std::size_t>(copies));
  for (int stage = 0; stage < plan.pipeline; ++stage)
    for (int number = 0; number < copies; ++number) {
      RankTrace& rank = trace.ranks[static_cast<std::size_t>(rank_at(stage, number))];
      rank.nodes = by_stage[static_cast<std::size_t>(stage)];
      for (TraceNode& node : rank.nodes) {
        if (node.peer >= 0) node.peer = rank_at(node.peer, number);
        if (node.group == "data")
          node.group = fmt::format("data of stage {} tensor {}", stage,
                                   grid.place(grid.rank(stage, number)).tensor);
      }
    }
  return trace;
}

}  // namespace foretrain
