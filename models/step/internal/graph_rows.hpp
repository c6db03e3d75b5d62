// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "models/step/task_graph.hpp"

namespace foretrain::internal {

inline constexpr std::uint32_t no_task = UINT32_MAX;
/// What sums of many doubles leave over is no task.
inline constexpr Seconds rounding{1e-13};

/// Appends tasks to a graph in topological order; tasks of one stream follow each other.
class GraphRows {
 public:
  static constexpr std::size_t streams = EnumNames<StreamKind>::names.size();

  GraphRows(TaskGraph& graph, int ranks) : graph_{graph} {
    graph_.ranks = ranks;
    tails_.assign(static_cast<std::size_t>(ranks) * streams, no_task);
    graph_.first.push_back(0);
  }

  std::uint32_t add_cost(TaskCost cost) {
    graph_.costs.push_back(std::move(cost));
    return static_cast<std::uint32_t>(graph_.costs.size() - 1);
  }

  /// An index for costs; of nothing: no_exchange.
  std::uint32_t add_exchanges(Exchanges exchanges) {
    if (exchanges.each.empty()) return no_exchange;
    graph_.exchanges.push_back(std::move(exchanges));
    return static_cast<std::uint32_t>(graph_.exchanges.size() - 1);
  }

  /// A cost key for a share of a task.
  std::uint32_t add_share(std::uint32_t cost, double share) {
    TaskCost part = graph_.costs[cost];
    part.duration *= share;
    part.parts *= share;
    part.bytes *= share;
    part.share *= share;
    return add_cost(std::move(part));
  }

  [[nodiscard]] TaskCost cost(std::uint32_t cost) const { return graph_.costs[cost]; }
  [[nodiscard]] Seconds duration(std::uint32_t cost) const { return graph_.costs[cost].duration; }

  /// `no_task` among `waits_for` means nothing.
  std::uint32_t add(const Task& task, std::initializer_list<std::uint32_t> waits_for) {
    const auto id = static_cast<std::uint32_t>(graph_.tasks.size());
    graph_.tasks.push_back(task);
    std::uint32_t& tail = tail_of(task.rank, task.stream);
    if (tail != no_task) graph_.predecessors.push_back(tail);
    for (const std::uint32_t other : waits_for)
      if (other != no_task && other != tail) graph_.predecessors.push_back(other);
    graph_.first.push_back(static_cast<std::uint32_t>(graph_.predecessors.size()));
    tail = id;
    return id;
  }

  /// One more predecessor of the task that was added last.
  void also_wait_for(std::uint32_t other) {
    if (other == no_task) return;
    graph_.predecessors.push_back(other);
    ++graph_.first.back();
  }

  [[nodiscard]] std::uint32_t tail(int rank, StreamKind stream) { return tail_of(rank, stream); }

 private:
  std::uint32_t& tail_of(int rank, StreamKind stream) {
    return tails_[static_cast<std::size_t>(rank) * streams + static_cast<std::size_t>(stream)];
  }

  TaskGraph& graph_;
  std::vector<std::uint32_t> tails_;
};

}  // namespace foretrain::internal
