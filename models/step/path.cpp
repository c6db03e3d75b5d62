// SPDX-License-Identifier: Apache-2.0
#include "models/step/path.hpp"

#include <algorithm>
#include <cstddef>

#include "models/base/require.hpp"
#include "models/step/internal/step_parts.hpp"

namespace foretrain {
namespace {

/// What a task's time counts as, in the order in which a breakdown puts causes in.
enum class Cause { passes, transfers, data, optimizer, constant };

Cause cause_of(const Task& task) {
  if (task.role == TaskRole::transfer) return Cause::transfers;
  if (inside_pass(task)) return Cause::passes;
  switch (task.role) {
    case TaskRole::optimizer:
    case TaskRole::offload:
      return Cause::optimizer;
    case TaskRole::input:
    case TaskRole::constant:
      return Cause::constant;
    default:
      return Cause::data;
  }
}

struct Span {
  Seconds begin;
  Seconds end;
  bool started = false;
};

/// What a task takes while causes after `last` take no time.
Seconds duration_of(const TaskGraph& graph, std::uint32_t id, Cause last) {
  return cause_of(graph.tasks[id]) <= last ? graph.cost_of(id).duration : Seconds{};
}

/// What a rank's weights take up to and with a task that brings some.
Seconds gathering(const TaskGraph& graph, std::uint32_t until, Cause last) {
  Seconds sum;
  for (std::uint32_t id = 0; id <= until; ++id) {
    const Task& task = graph.tasks[id];
    if (task.rank == graph.tasks[until].rank && task.role == TaskRole::weights)
      sum += duration_of(graph, id, last);
  }
  return sum;
}

/// From the first pass of each rank, and the gathering of weights that this had to wait for, to its
/// last task.
std::vector<Span> rank_spans(const TaskGraph& graph, const Timeline& timeline, Cause last) {
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
        span.begin = timeline.start[id] - gathering(graph, before, last);
  }
  return spans;
}

void measure_staggered(const TaskGraph& graph, Timeline& timeline, Cause last) {
  timeline.makespan = Seconds{};
  for (const Span& span : rank_spans(graph, timeline, last))
    timeline.makespan = max(timeline.makespan, span.end - span.begin);
}

void measure(const TaskGraph& graph, Timeline& timeline, Cause last) {
  timeline.makespan = Seconds{};
  for (const Seconds end : timeline.end) timeline.makespan = max(timeline.makespan, end);
  if (graph.staggered) measure_staggered(graph, timeline, last);
}

/// One sweep over tasks and edges; causes after `last` take no time.
void sweep(const TaskGraph& graph, Cause last, Timeline& timeline) {
  timeline.start.resize(graph.tasks.size());
  timeline.end.resize(graph.tasks.size());
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id) {
    Seconds start;
    for (const std::uint32_t before : graph.before(id)) start = max(start, timeline.end[before]);
    timeline.start[id] = start;
    timeline.end[id] = start + duration_of(graph, id, last);
  }
  measure(graph, timeline, last);
}

}  // namespace

Timeline longest_path(const TaskGraph& graph) {
  Timeline timeline;
  sweep(graph, Cause::constant, timeline);
  return timeline;
}

void measure_makespan(const TaskGraph& graph, Timeline& timeline) {
  FORETRAIN_REQUIRE(timeline.start.size() == graph.tasks.size() &&
                    timeline.end.size() == graph.tasks.size());
  measure(graph, timeline, Cause::constant);
}

std::vector<std::uint32_t> critical_path(const TaskGraph& graph, const Timeline& timeline) {
  FORETRAIN_REQUIRE(!graph.tasks.empty() && timeline.end.size() == graph.tasks.size());
  const auto latest = std::ranges::max_element(timeline.end);
  std::vector<std::uint32_t> path;
  auto id = static_cast<std::uint32_t>(latest - timeline.end.begin());
  for (;;) {
    path.push_back(id);
    const auto before = graph.before(id);
    if (before.empty()) break;
    id = *std::ranges::max_element(before, [&](std::uint32_t a, std::uint32_t b) {
      return timeline.end[a] < timeline.end[b];
    });
  }
  std::ranges::reverse(path);
  return path;
}

namespace {

/// What passes are spent on, exchanges inside them included: mean over the ranks.
TimeParts mean_work(const TaskGraph& graph) {
  TimeParts sum;
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id)
    if (inside_pass(graph.tasks[id])) sum += graph.cost_of(id).parts;
  return 1.0 / graph.ranks * sum;
}

Seconds mean_update(const TaskGraph& graph) {
  Seconds sum;
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id)
    if (graph.tasks[id].role == TaskRole::optimizer) sum += graph.cost_of(id).duration;
  return 1.0 / graph.ranks * sum;
}

}  // namespace

StepForecast attribute(const TaskGraph& graph, const Timeline& timeline, double jitter,
                       double release) {
  Timeline less;  // its memory serves every sweep
  const auto until = [&](Cause last) {
    sweep(graph, last, less);
    return less.makespan;
  };
  internal::StepSpans spans;
  spans.work = mean_work(graph);
  spans.updating = mean_update(graph);
  spans.passes = until(Cause::passes);
  spans.transfers = until(Cause::transfers);
  spans.synchronised = until(Cause::data);
  spans.updated = until(Cause::optimizer);
  spans.all = timeline.makespan;
  return internal::forecast_of(spans, jitter, release);
}

}  // namespace foretrain
