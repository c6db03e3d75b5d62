// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/grid/process_grid.hpp"
#include "planner/scene/scene.hpp"
#include "planner/sweep/sweep.hpp"
#include "planner/text/format.hpp"
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

/// Null where no machine has a forecast.
const ScalingPoint* largest(const std::vector<ScalingPoint>& points) {
  const ScalingPoint* last = nullptr;
  for (const ScalingPoint& point : points)
    if (point.tokens_per_s) last = &point;
  return last;
}

}  // namespace

const ScalingPoint* Scaling::own(const Job& job) const {
  const auto found = std::ranges::find(same_batch, job.cluster.hosts, &ScalingPoint::hosts);
  return found == same_batch.end() || !found->tokens_per_s ? nullptr : &*found;
}

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

SceneHeadline scaling_headline(const Scaling& scaling, const Job& job) {
  const ScalingPoint& own = *scaling.own(job);
  const auto kept = [&](const ScalingPoint& point) {
    return fmt::format("{} GPUs keep {}", with_thousands(point.gpus),
                       percent_text(point.per_gpu() / own.per_gpu()));
  };
  const ScalingPoint& last = *largest(scaling.same_batch);
  SceneHeadline line{last.gpus > own.gpus
                         ? "With the same batch " + kept(last) + " of the speed per GPU"
                         : "With the same batch this machine is the largest that this plan can use",
                     "tensor, pipeline and context degrees as they are, data ranks what is left"};
  if (const ScalingPoint* grown = largest(scaling.growing_batch); grown && grown->gpus > own.gpus)
    line.detail += "; with a batch that grows " + kept(*grown);
  return line;
}

std::string scaling_csv(const Scaling& scaling) {
  std::string text = "batch,hosts,gpus,global_batch,tokens_per_s,mfu\n";
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.17g}", *value) : std::string();
  };
  for (const auto& [name, points] :
       {std::pair{"same", &scaling.same_batch}, std::pair{"growing", &scaling.growing_batch}})
    for (const ScalingPoint& point : *points)
      text += fmt::format("{},{},{},{},{},{}\n", name, point.hosts, point.gpus, point.global_batch,
                          number(point.tokens_per_s), number(point.mfu));
  return text;
}

}  // namespace foretrain
