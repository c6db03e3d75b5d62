// SPDX-License-Identifier: Apache-2.0
#include "models/path.hpp"

#include <algorithm>
#include <cstddef>

#include "models/require.hpp"

namespace foretrain {
namespace {

struct RankWork {
  TimeParts mean;
  Seconds busiest;
};

/// Sums over the compute tasks of every rank; what a pass spends on exchanges is in its parts.
RankWork work_of(const TaskGraph& graph) {
  std::vector<TimeParts> ranks(static_cast<std::size_t>(graph.ranks));
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id)
    ranks[static_cast<std::size_t>(graph.tasks[id].rank)] += graph.cost_of(id).parts;
  RankWork work;
  for (const TimeParts& parts : ranks) {
    work.mean += 1.0 / graph.ranks * parts;
    work.busiest = max(work.busiest, parts.total());
  }
  return work;
}

}  // namespace

namespace {

struct Span {
  Seconds begin;
  Seconds end;
  bool started = false;
};

/// From the first pass of each rank, and the gathering of weights that this had to wait for, to its
/// last task.
std::vector<Span> rank_spans(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<Span> spans(static_cast<std::size_t>(graph.ranks));
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id) {
    const Task& task = graph.tasks[id];
    Span& span = spans[static_cast<std::size_t>(task.rank)];
    span.end = max(span.end, timeline.end[id]);
    if (span.started || task.stream != StreamKind::compute) continue;
    span.started = true;
    span.begin = timeline.start[id];
    for (const std::uint32_t before : graph.before(id))
      if (graph.tasks[before].role == TaskRole::weights)
        span.begin = timeline.start[id] - graph.cost_of(before).duration;
  }
  return spans;
}

void measure_staggered(const TaskGraph& graph, Timeline& timeline) {
  timeline.makespan = Seconds{};
  const std::vector<Span> spans = rank_spans(graph, timeline);
  for (std::size_t rank = 0; rank < spans.size(); ++rank) {
    const Seconds length = spans[rank].end - spans[rank].begin;
    if (length <= timeline.makespan) continue;
    timeline.makespan = length;
    timeline.longest_rank = static_cast<std::int32_t>(rank);
  }
}

}  // namespace

namespace {

/// One sweep over tasks and edges; with or without the time of transfers between stages.
Timeline sweep(const TaskGraph& graph, bool with_transfers) {
  Timeline timeline;
  timeline.start.resize(graph.tasks.size());
  timeline.end.resize(graph.tasks.size());
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id) {
    Seconds start;
    for (const std::uint32_t before : graph.before(id)) start = max(start, timeline.end[before]);
    const bool skipped = !with_transfers && graph.tasks[id].role == TaskRole::transfer;
    timeline.start[id] = start;
    timeline.end[id] = start + (skipped ? Seconds{} : graph.cost_of(id).duration);
  }
  measure_makespan(graph, timeline);
  return timeline;
}

}  // namespace

Timeline longest_path(const TaskGraph& graph) { return sweep(graph, true); }

void measure_makespan(const TaskGraph& graph, Timeline& timeline) {
  FORETRAIN_REQUIRE(timeline.start.size() == graph.tasks.size() &&
                    timeline.end.size() == graph.tasks.size());
  timeline.makespan = Seconds{};
  timeline.longest_rank = -1;
  for (const Seconds end : timeline.end) timeline.makespan = max(timeline.makespan, end);
  if (graph.staggered) measure_staggered(graph, timeline);
}

std::vector<std::uint32_t> critical_path(const TaskGraph& graph, const Timeline& timeline) {
  FORETRAIN_REQUIRE(!graph.tasks.empty() && timeline.end.size() == graph.tasks.size());
  const auto latest = std::max_element(timeline.end.begin(), timeline.end.end());
  std::vector<std::uint32_t> path;
  auto id = static_cast<std::uint32_t>(latest - timeline.end.begin());
  for (;;) {
    path.push_back(id);
    const auto before = graph.before(id);
    if (before.empty()) break;
    id = *std::max_element(before.begin(), before.end(), [&](std::uint32_t a, std::uint32_t b) {
      return timeline.end[a] < timeline.end[b];
    });
  }
  std::reverse(path.begin(), path.end());
  return path;
}

namespace {

/// Adds a task that is neither pass nor transfer to its row.
void add_other(TimeBreakdown& parts, const Task& task, const TaskCost& cost) {
  switch (task.role) {
    case TaskRole::transfer:
      break;
    case TaskRole::optimizer:
    case TaskRole::offload:
      parts.optimizer += cost.duration;
      break;
    case TaskRole::input:
      parts.input += cost.duration;
      break;
    case TaskRole::constant:
      parts.launch += cost.duration;
      break;
    default:
      parts.data += cost.duration;
  }
}

/// Of a staggered graph: what its longest rank spends outside passes; the rest of its span is
/// passes and waiting.
TimeBreakdown others_of_rank(const TaskGraph& graph, const Timeline& timeline) {
  TimeBreakdown parts;
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id) {
    const Task& task = graph.tasks[id];
    const bool on_compute =
        task.rank == timeline.longest_rank && task.stream == StreamKind::compute;
    if (on_compute && graph.cost_of(id).parts.total() <= Seconds{})
      add_other(parts, task, graph.cost_of(id));
  }
  return parts;
}

TimeBreakdown others_on_path(const TaskGraph& graph, const Timeline& timeline) {
  TimeBreakdown parts;
  for (const std::uint32_t id : critical_path(graph, timeline))
    if (graph.cost_of(id).parts.total() <= Seconds{})
      add_other(parts, graph.tasks[id], graph.cost_of(id));
  return parts;
}

}  // namespace

TimeBreakdown attribute(const TaskGraph& graph, const Timeline& timeline) {
  const RankWork work = work_of(graph);
  TimeBreakdown parts =
      graph.staggered ? others_of_rank(graph, timeline) : others_on_path(graph, timeline);
  const Seconds without_transfers = sweep(graph, false).makespan;
  parts.pipeline = max(timeline.makespan - without_transfers, Seconds{});
  const Seconds passes = timeline.makespan - parts.total();  // and waiting for them
  parts.compute = work.mean.compute;
  parts.recompute = work.mean.recompute;
  parts.tensor = work.mean.tensor;
  parts.context = work.mean.context;
  parts.expert = work.mean.expert;
  parts.data += work.mean.data;
  parts.launch += work.mean.launch;
  parts.imbalance = work.busiest - work.mean.total();
  parts.bubble = max(passes - work.busiest, Seconds{});
  // Data traffic on the path of a step that waits for transfers may have been counted twice.
  parts.data += passes - work.busiest - parts.bubble;
  return parts;
}

}  // namespace foretrain
