// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "planner/cluster/cluster_report.hpp"
#include "planner/forecast/report_csv.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

Json interval_of(const QueueEstimate& estimate) {
  if (!estimate.low) return nullptr;
  return Json::array({*estimate.low, *estimate.high});
}

Json times_tree(const QueueTimes& times) {
  return {{"mean", times.mean.value},
          {"p50", times.p50.value},
          {"p90", times.p90.value},
          {"p99", times.p99.value}};
}

Json times_intervals(const QueueTimes& times) {
  return {{"mean", interval_of(times.mean)},
          {"p50", interval_of(times.p50)},
          {"p90", interval_of(times.p90)},
          {"p99", interval_of(times.p99)}};
}

Json class_tree(const std::string& name, const std::string& team, const ClassSummary& jobs,
                int replications) {
  const bool any = jobs.jobs > 0;
  const auto known = [any](Json value) { return any ? std::move(value) : Json(nullptr); };
  return {{"name", name},
          {"team", team.empty() ? Json(nullptr) : Json(team)},
          {"jobs", jobs.jobs},
          {"jobs_per_replication", static_cast<double>(jobs.jobs) / replications},
          {"wait_s", known(times_tree(jobs.wait))},
          {"turnaround_s", known(times_tree(jobs.turnaround))},
          {"bounded_slowdown", known(jobs.bounded_slowdown.value)},
          {"deadlines_met", jobs.in_time ? Json(jobs.in_time->value) : Json(nullptr)},
          {"killed", jobs.killed},
          {"unfinished", jobs.unfinished},
          {"rented", jobs.rented},
          {"on_more_leaves_than_needed", jobs.scattered}};
}

/// What moldable jobs started with; null of others.
Json sizes_tree(const QueueClass& jobs, const ClassSummary& summary) {
  if (jobs.moldable.empty()) return nullptr;
  Json sizes = Json::array();
  for (std::size_t i = 0; i < summary.sizes.size(); ++i)
    sizes.push_back({{"hosts", jobs.moldable[i].hosts},
                     {"speed", jobs.moldable[i].speed},
                     {"jobs", summary.sizes[i]}});
  return sizes;
}

/// Null without cluster.burst.
Json cost_tree(const ClusterFile& file, const QueueSummary& summary) {
  if (!file.queue.burst_after) return nullptr;
  const ClusterCost cost = cluster_cost(file, summary);
  const auto money = [](const std::optional<Dollars>& value) {
    return value ? Json(value->value()) : Json(nullptr);
  };
  return {{"own_gpu_hours", cost.own_gpu_hours},
          {"own_usd", money(cost.own)},
          {"rented_gpu_hours", cost.rented_gpu_hours},
          {"rented_usd", money(cost.rented)},
          {"together_usd", money(cost.together)}};
}

Json class_intervals(const std::string& name, const ClassSummary& jobs) {
  return {{"name", name},
          {"wait_s", times_intervals(jobs.wait)},
          {"turnaround_s", times_intervals(jobs.turnaround)},
          {"bounded_slowdown", interval_of(jobs.bounded_slowdown)},
          {"deadlines_met", jobs.in_time ? interval_of(*jobs.in_time) : Json(nullptr)}};
}

Json hosts_tree(const HostSeconds& hosts, double whole) {
  return {{"productive", hosts.productive / whole},
          {"shared_leaves", hosts.sharing / whole},
          {"job_overhead", hosts.overhead / whole},
          {"lost_work", hosts.lost / whole},
          {"restart", hosts.restart / whole},
          {"killed", hosts.killed / whole},
          {"down", hosts.down / whole},
          {"idle", std::max(0.0, 1.0 - (hosts.allocated + hosts.down) / whole)}};
}

Json kwh_of(Joules energy) { return energy.value() / 3.6e6; }

/// Null without cluster.power.
Json energy_tree(const ClusterFile& file, const QueueSummary& summary) {
  const auto energy = cluster_energy(file, summary);
  if (!energy) return nullptr;
  return {{"idle_kwh", kwh_of(energy->idle)}, {"together_kwh", kwh_of(energy->together)}};
}

Json teams_tree(const ClusterFile& file, const QueueSummary& summary) {
  const auto energy = cluster_energy(file, summary);
  Json teams = Json::array();
  for (std::size_t i = 0; i < file.queue.teams.size(); ++i) {
    const double gpu_s = summary.team_host_s[i] * file.host.gpus;
    const double rented_s = summary.team_rented_s[i] * file.host.gpus;
    teams.push_back(
        {{"name", file.queue.teams[i].name},
         {"gpu_hours", gpu_s / 3600.0},
         {"price_usd", file.price_per_gpu_s ? Json(gpu_s * *file.price_per_gpu_s) : Json(nullptr)},
         {"energy_kwh", energy ? kwh_of(energy->teams[i]) : Json(nullptr)},
         {"rented_gpu_hours", rented_s / 3600.0},
         {"rented_usd", file.burst_price_per_gpu_s ? Json(rented_s * *file.burst_price_per_gpu_s)
                                                   : Json(nullptr)}});
  }
  return teams;
}

Json series_tree(const ClusterFile& file, const QueueSummary& summary) {
  Json waiting = Json::array();
  Json waiting_p90 = Json::array();
  Json waiting_hosts = Json::array();
  Json allocated = Json::array();
  Json down = Json::array();
  for (std::size_t i = 0; i < summary.bins.size(); ++i) {
    waiting.push_back(summary.bins[i].waiting_jobs);
    waiting_p90.push_back(summary.waiting_p90[i]);
    waiting_hosts.push_back(summary.bins[i].waiting_hosts);
    allocated.push_back(summary.bins[i].allocated);
    down.push_back(summary.bins[i].down);
  }
  return {{"step_s", file.queue.horizon.value() / static_cast<double>(summary.bins.size())},
          {"waiting_jobs", std::move(waiting)},
          {"waiting_jobs_p90", std::move(waiting_p90)},
          {"waiting_hosts", std::move(waiting_hosts)},
          {"allocated_hosts", std::move(allocated)},
          {"down_hosts", std::move(down)}};
}

Json queue_tree(const QueueSummary& summary) {
  return {{"mean_jobs", summary.waiting_jobs.value},
          {"longest_jobs", summary.longest_queue},
          {"host_failures", summary.failures},
          {"interrupted_jobs", summary.interrupted},
          {"preempted_jobs", summary.preempted}};
}

}  // namespace

std::string cluster_json(const ClusterFile& file, const QueueSummary& summary) {
  const QueueModel& queue = file.queue;
  const double counted_s = (queue.horizon - queue.warm_up).value();
  Json classes = Json::array();
  Json intervals = Json::array();
  for (std::size_t i = 0; i < queue.classes.size(); ++i) {
    const QueueClass& jobs = queue.classes[i];
    const std::string& team = queue.teams[static_cast<std::size_t>(jobs.team)].name;
    classes.push_back(class_tree(jobs.name, team, summary.classes[i], summary.replications));
    classes.back()["duration"] = file.durations[i];
    classes.back()["sizes"] = sizes_tree(jobs, summary.classes[i]);
    intervals.push_back(class_intervals(jobs.name, summary.classes[i]));
  }
  Json tree{{"schema", "cluster/1"},
            {"foretrain_version", version},
            {"name", file.name},
            {"cluster",
             {{"host", file.host.name},
              {"hosts", queue.hosts},
              {"gpus", file.gpus()},
              {"spares", queue.failures.spares}}},
            {"policy",
             {{"order", std::string(queue.policy.order->name)},
              {"backfill", std::string(queue.policy.backfill->name)},
              {"molding", has_moldable(queue) ? Json(std::string(queue.policy.molding->name))
                                              : Json(nullptr)}}},
            {"horizon_s", queue.horizon.value()},
            {"warm_up_s", queue.warm_up.value()},
            {"lead_in_s", lead_in(queue).value()},
            {"seed", queue.seed},
            {"offered_load", offered_load(queue)},
            {"classes", std::move(classes)},
            {"all", class_tree("all", {}, summary.all, summary.replications)},
            {"utilisation",
             {{"allocated", summary.allocated.value}, {"productive", summary.productive.value}}},
            {"host_time", hosts_tree(summary.hosts, queue.hosts * counted_s)},
            {"queue", queue_tree(summary)},
            {"teams", teams_tree(file, summary)},
            {"cost", cost_tree(file, summary)},
            {"energy", energy_tree(file, summary)},
            {"replications", summary.replications},
            {"confidence",
             {{"level", summary.level},
              {"method", "Student's t over independent replications"},
              {"classes", std::move(intervals)},
              {"all", class_intervals("all", summary.all)},
              {"utilisation",
               {{"allocated", interval_of(summary.allocated)},
                {"productive", interval_of(summary.productive)}}},
              {"mean_queue_jobs", interval_of(summary.waiting_jobs)},
              {"relative_half_width", number_or_null(summary.precision)},
              {"precise", summary.precise}}},
            {"stopped", summary.stopped},
            {"simulated_jobs", summary.simulated},
            {"over_time", series_tree(file, summary)},
            {"notes", file.notes}};
  return tree.dump(2) + "\n";
}

std::string cluster_csv(const ClusterFile& file, const QueueSummary& summary) {
  std::string text =
      "class,team,jobs,wait_mean_s,wait_p50_s,wait_p90_s,wait_p99_s,turnaround_mean_s,"
      "turnaround_p50_s,turnaround_p90_s,turnaround_p99_s,bounded_slowdown,killed,unfinished\r\n";
  const auto row = [&](const std::string& name, const std::string& team, const ClassSummary& jobs) {
    text += csv_field(name) + "," + csv_field(team) + "," + std::to_string(jobs.jobs);
    for (const QueueTimes* times : {&jobs.wait, &jobs.turnaround})
      for (const QueueEstimate* value : {&times->mean, &times->p50, &times->p90, &times->p99})
        text += jobs.jobs > 0 ? fmt::format(",{}", value->value) : ",";
    text += jobs.jobs > 0 ? fmt::format(",{}", jobs.bounded_slowdown.value) : ",";
    text += fmt::format(",{},{}\r\n", jobs.killed, jobs.unfinished);
  };
  for (std::size_t i = 0; i < file.queue.classes.size(); ++i) {
    const QueueClass& jobs = file.queue.classes[i];
    row(jobs.name, file.queue.teams[static_cast<std::size_t>(jobs.team)].name, summary.classes[i]);
  }
  row("all", "", summary.all);
  return text;
}

}  // namespace foretrain
