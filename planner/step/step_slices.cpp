// SPDX-License-Identifier: Apache-2.0

#include "planner/step/step_slices.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "models/base/require.hpp"
#include "models/grid/process_grid.hpp"
#include "planner/text/format.hpp"
#include "planner/text/palette.hpp"

namespace foretrain {
namespace {

std::vector<StepSlice>& band_of(StepRow& row, const Task& task) {
  const bool neighbour = task.stream == StreamKind::send || task.stream == StreamKind::receive;
  if (neighbour) return row.exchange;
  return beside_layers(task.stream) ? row.data : row.work;
}

Seconds covered(const std::vector<StepSlice>& slices) {
  Seconds sum;
  Seconds until;
  for (const StepSlice& slice : slices) {
    sum += max(slice.to - max(slice.from, until), Seconds{});
    until = max(until, slice.to);
  }
  return sum;
}

bool between_stages(const Task& task) { return task.role == TaskRole::transfer && task.peer >= 0; }

std::string rate_of(BytesPerSecond rate) { return fixed_text(rate.in(GBps), 1) + " GB/s per GPU"; }

}  // namespace

std::vector<StepRow> step_rows(const StepPath& path) {
  const TaskGraph& graph = path.graph;
  FORETRAIN_REQUIRE(path.timeline.end.size() == graph.tasks.size());
  std::vector<StepRow> rows(static_cast<std::size_t>(graph.ranks));
  for (std::size_t id = 0; id < graph.tasks.size(); ++id) {
    const Task& task = graph.tasks[id];
    const Seconds from = path.timeline.start[id];
    const Seconds to = path.timeline.end[id];
    if (to <= from) continue;
    band_of(rows[static_cast<std::size_t>(task.rank)], task)
        .push_back({from, to, static_cast<std::uint32_t>(id), task.role, task.micro, task.chunk});
  }
  for (StepRow& row : rows) {
    for (auto* band : {&row.work, &row.exchange, &row.data})
      std::stable_sort(band->begin(), band->end(),
                       [](const StepSlice& a, const StepSlice& b) { return a.from < b.from; });
    row.busy = covered(row.work);
  }
  return rows;
}

std::vector<bool> on_critical_path(const StepPath& path) {
  std::vector<bool> critical(path.graph.tasks.size(), false);
  for (const std::uint32_t id : critical_path(path.graph, path.timeline)) critical[id] = true;
  return critical;
}

std::string slice_name(const TaskGraph& graph, std::uint32_t id) {
  const Task& task = graph.tasks[id];
  std::string text = look_of(task.role).name;
  if (between_stages(task)) text += fmt::format(" to stage {}", task.peer);
  if (task.micro >= 0) text += fmt::format(" of micro-batch {}", task.micro);
  if (task.chunk > 0) text += fmt::format(", chunk {}", task.chunk);
  if (task.layer >= 0) text += fmt::format(", layer {}", task.layer);
  return text;
}

std::string slice_link(const Job& job, const TaskGraph& graph, std::uint32_t id) {
  const Task& task = graph.tasks[id];
  const Exchanges* exchanges = graph.exchanges_of(graph.cost_of(id));
  if (task.kind == TaskKind::compute || exchanges == nullptr) return "";
  const Cluster& cluster = job.cluster;
  const Group all = ProcessGrid{job.parallel}.group(exchanges->each.front().group);
  const CommGroup group = all.on_hosts(cluster.packing());
  if (group.ranks < 2) return "";
  if (group.domains() < 2) {
    const Link& link = cluster.host.gpu_link;
    return fmt::format("{} inside {}, {}", link.title.empty() ? link.name : link.title,
                       group.domain_hosts > 1 ? "an NVLink domain" : "a host",
                       rate_of(link.bandwidth));
  }
  const Network& network = cluster.network;
  return fmt::format("{} between hosts, {}", network.title.empty() ? network.preset : network.title,
                     rate_of(cluster.inter_host_bandwidth_per_gpu()));
}

MemoryCourse stage_memory_course(const Report& report, const StepPath& path, int stage) {
  const Job& job = report.scenario.job;
  return memory_course(job, stage_layout(job.model, job.parallel), path, stage);
}

std::int64_t step_passes(const Report& report) {
  if (!report.prediction.step) return 0;
  const Job& job = report.scenario.job;
  return std::int64_t{2} * job.parallel.pipeline * job.parallel.virtual_stages * job.microbatches();
}

std::optional<StepPath> play_step(const Report& report, Detail detail) {
  if (!report.prediction.step) return std::nullopt;
  const Job& job = report.scenario.job;
  return step_path(job, stage_layout(job.model, job.parallel), detail);
}

}  // namespace foretrain
