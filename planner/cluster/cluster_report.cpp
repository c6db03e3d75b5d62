// SPDX-License-Identifier: Apache-2.0

#include "planner/cluster/cluster_report.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <optional>

#include "planner/cluster/internal/cluster_reading.hpp"
#include "planner/forecast/report.hpp"
#include "planner/own_runs/scenario_file.hpp"
#include "planner/text/format.hpp"
#include "scenarios/yaml/confinement.hpp"

namespace foretrain {

ClusterCost cluster_cost(const ClusterFile& file, const QueueSummary& summary) {
  const QueueModel& queue = file.queue;
  const double own_s = static_cast<double>(file.gpus()) * (queue.horizon - queue.warm_up).value();
  const double rented_s = summary.hosts.rented * file.host.gpus;
  ClusterCost cost{own_s / 3600.0, rented_s / 3600.0};
  if (file.price_per_gpu_s) cost.own = Dollars{own_s * *file.price_per_gpu_s};
  if (file.burst_price_per_gpu_s) cost.rented = Dollars{rented_s * *file.burst_price_per_gpu_s};
  if (cost.own && cost.rented) cost.together = *cost.own + *cost.rented;
  return cost;
}

std::optional<ClusterEnergy> cluster_energy(const ClusterFile& file, const QueueSummary& summary) {
  if (!file.busy_power || !file.idle_power) return std::nullopt;
  const QueueModel& queue = file.queue;
  ClusterEnergy energy;
  for (const double host_s : summary.team_host_s)
    energy.teams.push_back(Seconds{host_s} * *file.busy_power);
  const double idle_s =
      queue.hosts * (queue.horizon - queue.warm_up).value() - summary.hosts.allocated;
  energy.idle = Seconds{std::max(0.0, idle_s)} * *file.idle_power;
  energy.together = energy.idle;
  for (const Joules team : energy.teams) energy.together += team;
  return energy;
}

AnswerSection cost_section(const ClusterFile& file, const QueueSummary& summary) {
  if (!file.queue.burst_after) return {};
  const ClusterCost cost = cluster_cost(file, summary);
  const auto money = [](const std::optional<Dollars>& value) {
    return value ? dollars_text(*value) : std::string("-");
  };
  AnswerTable table{{words_column("hosts"), number_column("GPU-hours"), number_column("cost")}};
  table.add({"own, used or not", count_text(cost.own_gpu_hours), money(cost.own)});
  table.add({"rented", count_text(cost.rented_gpu_hours), money(cost.rented)});
  table.add(
      {"together", count_text(cost.own_gpu_hours + cost.rented_gpu_hours), money(cost.together)});
  return {"Own and rented hosts", {std::move(table)}};
}

}  // namespace foretrain

namespace foretrain::internal {
namespace {

/// A run on so many hosts.
struct RunOnHosts {
  int hosts = 1;
  Seconds duration;
  double productive = 1.0;
};

/// The forecast of a run as the duration of a job; nothing after reporting.
std::optional<RunOnHosts> run_of(const ClusterReading& reading, const std::string& path,
                                 const Report& report) {
  const RunForecast& run = report.prediction.run;
  const std::string at = path + ".scenario";
  if (!run.ideal) {
    reading.report(at, "the duration is unknown: the scenario gives no training.tokens");
    return std::nullopt;
  }
  if (run.expected && reading.file.queue.failures.every > Seconds{}) {
    reading.report(at,
                   "its operations and cluster.failures would both count interruptions; leave "
                   "cluster.failures out, or the scenario's operations");
    return std::nullopt;
  }
  return RunOnHosts{1, run.expected.value_or(*run.ideal),
                    run.expected ? *run.ideal / *run.expected : 1.0};
}

void note_goodput(const ClusterReading& reading, const Report& report, const QueueClass& jobs) {
  if (report.prediction.run.expected || reading.file.queue.failures.every > Seconds{}) return;
  reading.file.notes.push_back(
      fmt::format("Goodput of class {} is unknown (foretrain goodput says what is missing): its "
                  "jobs run without interruptions.",
                  in_quotes(jobs.name)));
}

/// The class's scenario, on so many hosts where they are given; nothing after reporting.
std::optional<RunOnHosts> forecast_on(const ClusterReading& reading, const std::string& path,
                                      std::optional<int> hosts, const QueueClass& jobs) {
  const std::string key = path + ".scenario";
  LoadOptions options = reading.options;
  options.overrides.clear();
  if (hosts) options.overrides.push_back(fmt::format("cluster.hosts={}", *hosts));
  const Scenario scenario =
      load_scenario_or_record(
          (reading.folder / reading.values.text(key)).lexically_normal().string(), options)
          .scenario;
  const Cluster& cluster = scenario.job.cluster;
  const bool first = jobs.moldable.empty() || hosts == jobs.moldable.front().hosts;
  if (first && !reading.file.host.name.empty() && cluster.host.name != reading.file.host.name)
    reading.report(key,
                   fmt::format("it runs on {}, and this cluster has {}; set its cluster.host",
                               in_quotes(cluster.host.name), in_quotes(reading.file.host.name)));
  const Report report = evaluate(scenario);
  if (first)
    reading.file.files.insert(reading.file.files.end(), scenario.files.begin(),
                              scenario.files.end());
  if (!report.prediction.feasible()) {
    reading.report(key, hosts ? fmt::format("its plan does not run on {} hosts: foretrain simulate "
                                            "says why",
                                            *hosts)
                              : std::string("its plan does not run: foretrain simulate says why"));
    return std::nullopt;
  }
  auto run = run_of(reading, path, report);
  if (run && first) note_goodput(reading, report, jobs);
  if (run) run->hosts = cluster.hosts;
  return run;
}

void forecast_sizes(const ClusterReading& reading, const std::string& path, QueueClass& jobs) {
  for (MoldableSize& size : jobs.moldable) {
    const auto run = forecast_on(reading, path, size.hosts, jobs);
    if (!run) return;
    if (&size == &jobs.moldable.front()) jobs.duration = {DurationKind::fixed, run->duration};
    size.speed = jobs.duration.typical / run->duration;
    size.productive = run->productive;
  }
  check_speeds(reading, path, jobs, "hosts");
}

void forecast_fixed(const ClusterReading& reading, const std::string& path, QueueClass& jobs) {
  std::optional<int> hosts;
  if (reading.has(path + ".hosts")) hosts = reading.values.integer(path + ".hosts");
  const auto run = forecast_on(reading, path, hosts, jobs);
  if (!run) return;
  jobs.sizes = {{run->hosts, 1.0}};
  jobs.duration = {DurationKind::fixed, run->duration};
  jobs.productive = run->productive;
}

}  // namespace

std::filesystem::path named_file(const ClusterReading& reading, const std::string& path) {
  const std::string& written = reading.values.text(path);
  auto target = canonical_of(reading.folder / written);
  const std::string refused =
      path_refusal(written, target, roots_of(reading.folder, reading.options), "read");
  if (refused.empty()) return target;
  reading.report(path, refused);
  return {};
}

void read_scenario_class(const ClusterReading& reading, const std::string& path, QueueClass& jobs) {
  const std::string key = path + ".scenario";
  if (!reading.has(key)) return;
  const auto file = named_file(reading, key);
  if (file.empty()) return;
  const std::string& written = reading.values.text(key);
  if (!std::filesystem::is_regular_file(file)) {
    reading.report(key, in_quotes(written) + ": no such file");
    return;
  }
  try {
    if (jobs.moldable.empty())
      forecast_fixed(reading, path, jobs);
    else
      forecast_sizes(reading, path, jobs);
  } catch (const ScenarioError& error) {
    for (const Diagnostic& found : error.diagnostics()) reading.diagnostics.add(found);
  }
}

}  // namespace foretrain::internal
