// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/scaling.hpp"

#include <fmt/format.h>

#include "models/grid/process_grid.hpp"
#include "planner/sweep/sweep.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

constexpr int most_doublings = 3;
constexpr int most_hosts = 1 << 20;

std::vector<ScalingPoint> machines(const Job& job, bool growing_batch) {
  std::vector<ScalingPoint> points;
  const auto add = [&](int up, int down) {
    const int batch = job.training.global_batch;
    if (job.cluster.hosts % down != 0 || (growing_batch && batch % down != 0)) return;
    const int hosts = job.cluster.hosts / down * up;
    if (hosts > most_hosts || batch > most_hosts * 8) return;
    points.push_back({.hosts = hosts,
                      .gpus = hosts * job.cluster.host.gpus,
                      .global_batch = growing_batch ? batch / down * up : batch});
  };
  for (int halved = most_doublings; halved > 0; --halved) add(1, 1 << halved);
  for (int doubled = 0; doubled <= most_doublings; ++doubled) add(1 << doubled, 1);
  return points;
}

void forecast(const Scenario& scenario, std::vector<ScalingPoint>& points,
              const std::stop_token& stop) {
  std::string axis = "cluster.hosts,training.global_batch=";
  for (const ScalingPoint& point : points)
    axis += fmt::format("{}{}:{}", axis.ends_with('=') ? "" : ",", point.hosts, point.global_batch);
  SweepQuestion question;
  question.base = {scenario.source.text, scenario.path, scenario.source.folder,
                   scenario.source.options};
  question.base.options.left_out = {"parallel.data"};
  question.grid = make_grid({axis});
  question.metrics = {"tokens_per_s", "mfu"};
  question.program = version;
  Sweep sweep{question};
  for (std::size_t i = 0; i < points.size() && !stop.stop_requested(); ++i) {
    const SweepRow row = sweep.forecast(static_cast<std::int64_t>(i));
    points[i].why = row.reason;
    if (row.status != PointStatus::ok || row.metrics.size() != 2) continue;
    points[i].tokens_per_s = row.metrics[0];
    points[i].mfu = row.metrics[1];
  }
}

}  // namespace

Scaling scaling_of(const Scenario& scenario, const std::stop_token& stop) {
  Scaling result{machines(scenario.job, false), machines(scenario.job, true)};
  forecast(scenario, result.same_batch, stop);
  forecast(scenario, result.growing_batch, stop);
  return result;
}

std::vector<std::string> scaling_settings(const Scenario& scenario, const ScalingPoint& point) {
  const Parallel& plan = scenario.job.parallel;
  std::vector<std::string> settings{fmt::format("cluster.hosts={}", point.hosts),
                                    fmt::format("training.global_batch={}", point.global_batch)};
  const int replica = ProcessGrid{plan}.replica_ranks();
  if (point.gpus % replica == 0)
    settings.push_back(fmt::format("parallel.data={}", point.gpus / replica));
  return settings;
}

}  // namespace foretrain
