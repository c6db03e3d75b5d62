// SPDX-License-Identifier: Apache-2.0
#include "planner/exchange/execution_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/grid/process_grid.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

/// What a stage exchanges once per step with those that hold the same weights; null: nothing.
const Exchanges* data_exchange(const TaskGraph& graph, const Task& task) {
  const Exchanges* exchanges = graph.exchanges_of(graph.costs[task.cost]);
  if (task.kind != TaskKind::collective || exchanges == nullptr) return nullptr;
  return exchanges->each.front().cover == Cover::passes ? exchanges : nullptr;
}

/// The nodes of one stage, the same for all its ranks but for peers and groups.
class StageTraces {
 public:
  StageTraces(const Job& job, const StepPath& path)
      : job_{job}, graph_{path.graph}, timeline_{path.timeline} {
    nodes_.resize(static_cast<std::size_t>(graph_.ranks));
  }

  /// By stage; peers and tags name stages and tasks.
  const std::vector<std::vector<TraceNode>>& build() {
    for (std::uint32_t task = 0; task < graph_.tasks.size(); ++task) add(task);
    return nodes_;
  }

 private:
  std::vector<TraceNode>& of(int stage) { return nodes_[static_cast<std::size_t>(stage)]; }

  [[nodiscard]] TraceNode plain(std::uint32_t id, std::uint64_t node_id) const {
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
    send.kind = TraceNodeKind::send;
    send.bytes = graph_.exchanges_of(graph_.cost_of(id))->each.front().payload;
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

  /// Gradients and weights of a stage, each in parts, experts with the others.
  void exchange(TraceNode& node, const Task& task, std::uint32_t id) const {
    node.kind = TraceNodeKind::compute;  // exchanges within passes, and of tied embeddings
    const Exchanges* exchanges = data_exchange(graph_, task);
    if (exchanges == nullptr) return;
    Bytes whole;
    for (const Exchange& exchange : exchanges->each) whole += exchange.payload;
    const double ranks = ProcessGrid{job_.parallel}.group(GroupKind::data_context).ranks();
    node.kind = TraceNodeKind::collective;
    node.op = exchanges->each.front().op;
    // A rank puts its own part into an all-gather, and the whole buffer into a reduction.
    node.bytes =
        graph_.cost_of(id).share * whole / (node.op == CollectiveOp::all_gather ? ranks : 1.0);
    node.group = "data";
  }

  const Job& job_;
  const TaskGraph& graph_;
  const Timeline& timeline_;
  std::vector<std::vector<TraceNode>> nodes_;
  std::set<std::pair<std::uint32_t, int>> told_;
  std::map<std::pair<std::uint32_t, int>, std::uint64_t> heard_;
  std::uint64_t next_extra_ = std::uint64_t{1} << 40U;
  int tag_ = 0;
};

}  // namespace

ExecutionTrace trace_of_step(const Job& job, const StepPath& path, TraceRanks ranks) {
  const Parallel& plan = job.parallel;
  if (plan.single_process())
    throw UsageError(
        "execution traces cannot represent parallel.processes: per-host (torch.nn.DataParallel): "
        "they "
        "hold a rank per GPU, each with its own process; write per-gpu");
  StageTraces stages(job, path);
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

std::string rank_file(const std::string& pattern, int rank) {
  const std::size_t at = pattern.find("%d");
  if (at == std::string::npos || pattern.find("%d", at + 2) != std::string::npos)
    throw UsageError("a trace has a file per rank: write the name with one %d, as in trace.%d.et");
  return pattern.substr(0, at) + std::to_string(rank) + pattern.substr(at + 2);
}

}  // namespace foretrain
