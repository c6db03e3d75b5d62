// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "planner/answer/value_csv.hpp"
#include "planner/answer/value_json.hpp"
#include "planner/cluster/cluster_report.hpp"

namespace foretrain {
namespace {

struct ClusterShown {
  const ClusterFile& file;
  const QueueSummary& summary;
};

/// The jobs of a class, or all of them.
struct ClassShown {
  std::string name;
  std::optional<std::string> team;
  const ClassSummary& jobs;
  int replications = 1;
  std::string duration{};                    ///< of a class: where it comes from
  const std::vector<MoldableSize>* sizes{};  ///< null: it is not moldable
};

bool any_jobs(const ClassShown& shown) { return shown.jobs.jobs > 0; }

ValueTable<ClassShown> make_class_values() {
  using R = const ClassShown&;
  using S = ClassSummary;
  const auto jobs = [](auto ClassSummary::*count) {
    return [count](R shown) { return shown.jobs.*count; };
  };
  ValueTable<ClassShown> table;
  table.add("name", &ClassShown::name)
      .add("team", &ClassShown::team)
      .add("jobs", jobs(&S::jobs), "Jobs counted in all replications.")
      .add("jobs_per_replication",
           [](R shown) { return static_cast<double>(shown.jobs.jobs) / shown.replications; });
  for (const auto& [group, times] :
       {std::pair{"wait_s", &S::wait}, std::pair{"turnaround_s", &S::turnaround}}) {
    table.group(group, any_jobs);
    for (const auto& [name, estimate] : queue_statistics)
      table.add(std::string(group) + "." + name, [times = times, estimate = estimate](R shown) {
        return (shown.jobs.*times.*estimate).value;
      });
  }
  table
      .add("bounded_slowdown",
           [](R shown) {
             return any_jobs(shown) ? std::optional(shown.jobs.bounded_slowdown.value)
                                    : std::nullopt;
           })
      .add(
          "deadlines_met",
          [](R shown) {
            return shown.jobs.in_time ? std::optional(shown.jobs.in_time->value) : std::nullopt;
          },
          "Share of jobs with a deadline that meet it.")
      .as(Measure::share)
      .add("killed", jobs(&S::killed))
      .add("unfinished", jobs(&S::unfinished))
      .add("rented", jobs(&S::rented))
      .add("on_more_leaves_than_needed", jobs(&S::scattered));
  return table;
}

const ValueTable<ClassShown> class_values = make_class_values();

struct SizeShown {
  const MoldableSize& size;
  std::int64_t jobs;
};

std::optional<std::vector<SizeShown>> sizes_of(const ClassShown& shown) {
  if (shown.sizes == nullptr) return std::nullopt;
  std::vector<SizeShown> sizes;
  for (std::size_t i = 0; i < shown.jobs.sizes.size(); ++i)
    sizes.push_back({(*shown.sizes)[i], shown.jobs.sizes[i]});
  return sizes;
}

const ValueTable<SizeShown> size_values =
    ValueTable<SizeShown>{}
        .add("hosts", [](const SizeShown& shown) { return shown.size.hosts; })
        .add("speed", [](const SizeShown& shown) { return shown.size.speed; })
        .add("jobs", &SizeShown::jobs, "Jobs that started with this size.");

/// With what only single classes have.
const ValueTable<ClassShown> single_class_values =
    ValueTable<ClassShown>{}
        .add_from(class_values.rows(), "",
                  [](const ClassShown& shown) -> const ClassShown& { return shown; })
        .add("duration", &ClassShown::duration, "Source of the durations.")
        .add("sizes", sizes_of, size_values, "Sizes that moldable jobs started with.");

std::vector<ClassShown> classes_of(const ClusterShown& shown) {
  std::vector<ClassShown> classes;
  for (std::size_t i = 0; i < shown.file.queue.classes.size(); ++i) {
    const QueueClass& jobs = shown.file.queue.classes[i];
    classes.push_back({jobs.name, shown.file.queue.teams[static_cast<std::size_t>(jobs.team)].name,
                       shown.summary.classes[i], shown.summary.replications,
                       shown.file.durations[i], jobs.moldable.empty() ? nullptr : &jobs.moldable});
  }
  return classes;
}
ClassShown all_jobs(const ClusterShown& shown) {
  return {"all", std::nullopt, shown.summary.all, shown.summary.replications};
}

ValueTable<ClassShown> make_interval_values() {
  using R = const ClassShown&;
  ValueTable<ClassShown> table;
  table.add("name", &ClassShown::name);
  for (const auto& [group, times] : {std::pair{"wait_s", &ClassSummary::wait},
                                     std::pair{"turnaround_s", &ClassSummary::turnaround}})
    for (const auto& [name, estimate] : queue_statistics)
      table.add(std::string(group) + "." + name, [times = times, estimate = estimate](R shown) {
        return confidence_of(shown.jobs.*times.*estimate);
      });
  table.add("bounded_slowdown", [](R shown) { return confidence_of(shown.jobs.bounded_slowdown); })
      .add("deadlines_met", [](R shown) {
        return shown.jobs.in_time ? confidence_of(*shown.jobs.in_time) : std::nullopt;
      });
  return table;
}

const ValueTable<ClassShown> class_interval_values = make_interval_values();

const ValueTable<ClusterCost>& cost_values() {
  using R = ClusterCost;
  static const auto table = ValueTable<R>{}
                                .add("own_gpu_hours", &R::own_gpu_hours,
                                     "GPU-hours of the cluster's own GPUs, used or not.")
                                .add("own_usd", &R::own)
                                .add("rented_gpu_hours", &R::rented_gpu_hours)
                                .add("rented_usd", &R::rented)
                                .add("together_usd", &R::together);
  return table;
}

const ValueTable<ClusterEnergy> energy_values =
    ValueTable<ClusterEnergy>{}
        .add("idle_kwh", [](const ClusterEnergy& energy) { return energy.idle.in(kWh); })
        .as(Measure::kwh)
        .add("together_kwh", [](const ClusterEnergy& energy) { return energy.together.in(kWh); })
        .as(Measure::kwh);

struct TeamShown {
  std::string name;
  double gpu_s = 0.0;
  double rented_s = 0.0;
  const ClusterFile& file;
  std::optional<double> energy_kwh;
};

std::vector<TeamShown> teams_of(const ClusterShown& shown) {
  const auto energy = cluster_energy(shown.file, shown.summary);
  std::vector<TeamShown> teams;
  for (std::size_t i = 0; i < shown.file.queue.teams.size(); ++i)
    teams.push_back({shown.file.queue.teams[i].name,
                     shown.summary.team_host_s[i] * shown.file.host.gpus,
                     shown.summary.team_rented_s[i] * shown.file.host.gpus, shown.file,
                     energy ? std::optional(energy->teams[i].in(kWh)) : std::nullopt});
  return teams;
}

const ValueTable<TeamShown>& team_values() {
  using R = const TeamShown&;
  const auto price = [](double TeamShown::*seconds, std::optional<double> ClusterFile::*per_s) {
    return [seconds, per_s](R team) {
      const std::optional<double>& known = team.file.*per_s;
      return known ? std::optional(team.*seconds * *known) : std::nullopt;
    };
  };
  static const auto table =
      ValueTable<TeamShown>{}
          .add("name", &TeamShown::name)
          .add("gpu_hours", [](R team) { return team.gpu_s / 3600.0; })
          .add("price_usd", price(&TeamShown::gpu_s, &ClusterFile::price_per_gpu_s))
          .add("energy_kwh", &TeamShown::energy_kwh)
          .add("rented_gpu_hours", [](R team) { return team.rented_s / 3600.0; })
          .add("rented_usd", price(&TeamShown::rented_s, &ClusterFile::burst_price_per_gpu_s));
  return table;
}

/// @param number a member of a bin
template <class Number>
auto each_bin(Number QueueBin::*number) {
  return [number](const ClusterShown& shown) {
    std::vector<Number> numbers;
    for (const QueueBin& bin : shown.summary.bins) numbers.push_back(bin.*number);
    return numbers;
  };
}

/// What hosts did, as shares of all of their time.
auto host_share(double HostSeconds::*part) {
  return [part](const ClusterShown& shown) {
    const QueueModel& queue = shown.file.queue;
    return shown.summary.hosts.*part / (queue.hosts * (queue.horizon - queue.warm_up).value());
  };
}

double idle_share(const ClusterShown& shown) {
  return std::max(0.0, 1.0 - (host_share(&HostSeconds::allocated)(shown) +
                              host_share(&HostSeconds::down)(shown)));
}

using Shown = const ClusterShown&;

Shown itself(Shown shown) { return shown; }
auto of_summary(auto QueueSummary::*member) {
  return [member](Shown shown) { return shown.summary.*member; };
}
auto value_in(QueueEstimate QueueSummary::*member) {
  return [member](const QueueSummary& summary) { return (summary.*member).value; };
}
auto confidence_in(QueueEstimate QueueSummary::*member) {
  return [member](Shown shown) { return confidence_of(shown.summary.*member); };
}

const ValueTable<QueueSummary> utilisation_values =
    ValueTable<QueueSummary>{}
        .add("allocated", value_in(&QueueSummary::allocated))
        .add("productive", value_in(&QueueSummary::productive));

const ValueTable<ClusterShown> host_time_values =
    ValueTable<ClusterShown>{}
        .add("productive", host_share(&HostSeconds::productive))
        .add("shared_leaves", host_share(&HostSeconds::sharing))
        .add("job_overhead", host_share(&HostSeconds::overhead))
        .add("lost_work", host_share(&HostSeconds::lost))
        .add("restart", host_share(&HostSeconds::restart))
        .add("killed", host_share(&HostSeconds::killed))
        .add("down", host_share(&HostSeconds::down))
        .add("idle", idle_share);

const ValueTable<QueueSummary> queue_values =
    ValueTable<QueueSummary>{}
        .add("mean_jobs", value_in(&QueueSummary::waiting_jobs))
        .add("longest_jobs", &QueueSummary::longest_queue)
        .add("host_failures", &QueueSummary::failures)
        .add("interrupted_jobs", &QueueSummary::interrupted)
        .add("preempted_jobs", &QueueSummary::preempted);

const ValueTable<ClusterShown> confidence_values =
    ValueTable<ClusterShown>{}
        .add("level", of_summary(&QueueSummary::level))
        .add("method", [](Shown) { return "Student's t over independent replications"; })
        .add("classes", classes_of, class_interval_values)
        .add("all", all_jobs, class_interval_values)
        .add("utilisation.allocated", confidence_in(&QueueSummary::allocated))
        .add("utilisation.productive", confidence_in(&QueueSummary::productive))
        .add("mean_queue_jobs", confidence_in(&QueueSummary::waiting_jobs))
        .add(
            "relative_half_width",
            [](Shown shown) { return std::optional(shown.summary.precision); },
            "Widest relative half-width of a class's mean wait.")
        .add("precise", of_summary(&QueueSummary::precise),
             "False: the precision asked for would take more simulated jobs than allowed.");

const ValueTable<ClusterShown> over_time_values =
    ValueTable<ClusterShown>{}
        .add("step_s",
             [](Shown shown) {
               return shown.file.queue.horizon / static_cast<double>(shown.summary.bins.size());
             })
        .add("waiting_jobs", each_bin(&QueueBin::waiting_jobs))
        .add("waiting_jobs_p90", of_summary(&QueueSummary::waiting_p90))
        .add("waiting_hosts", each_bin(&QueueBin::waiting_hosts))
        .add("allocated_hosts", each_bin(&QueueBin::allocated))
        .add("down_hosts", each_bin(&QueueBin::down));

const ValueTable<ClusterFile> cluster_values =
    ValueTable<ClusterFile>{}
        .add("host", [](const ClusterFile& file) { return file.host.name; })
        .add("hosts", [](const ClusterFile& file) { return file.queue.hosts; })
        .add("gpus", &ClusterFile::gpus)
        .add("spares", [](const ClusterFile& file) { return file.queue.failures.spares; });

const ValueTable<QueueModel> policy_values =
    ValueTable<QueueModel>{}
        .add("order", [](const QueueModel& queue) { return queue.policy.order->name; })
        .add("backfill", [](const QueueModel& queue) { return queue.policy.backfill->name; })
        .add(
            "molding",
            [](const QueueModel& queue) {
              return has_moldable(queue) ? std::optional(queue.policy.molding->name) : std::nullopt;
            },
            "Rule for moldable jobs; null: no jobs are moldable.");

const ValueTable<ClusterShown>& cluster_table() {
  const auto summary = [](Shown shown) -> const QueueSummary& { return shown.summary; };
  static const auto table =
      ValueTable<ClusterShown>{"cluster/1",
                               "foretrain cluster --json, schema cluster/1; null is unknown"}
          .add("name", [](Shown shown) { return shown.file.name; })
          .add(
              "cluster", [](Shown shown) -> const ClusterFile& { return shown.file; },
              cluster_values)
          .add(
              "policy", [](Shown shown) -> const QueueModel& { return shown.file.queue; },
              policy_values)
          .add("horizon_s", [](Shown shown) { return shown.file.queue.horizon; })
          .add("warm_up_s", [](Shown shown) { return shown.file.queue.warm_up; })
          .add("lead_in_s", [](Shown shown) { return lead_in(shown.file.queue); })
          .add("seed", [](Shown shown) { return shown.file.queue.seed; })
          .add("offered_load", [](Shown shown) { return offered_load(shown.file.queue); })
          .add("classes", classes_of, single_class_values)
          .add("all", all_jobs, class_values)
          .add("utilisation", summary, utilisation_values)
          .add("host_time", itself, host_time_values, "Shares of the time of all hosts.")
          .add("queue", summary, queue_values)
          .add("teams", teams_of, team_values())
          .add(
              "cost",
              [](Shown shown) {
                return shown.file.queue.burst_after
                           ? std::optional(cluster_cost(shown.file, shown.summary))
                           : std::nullopt;
              },
              cost_values(), "Cost; null without cluster.burst.")
          .add(
              "energy", [](Shown shown) { return cluster_energy(shown.file, shown.summary); },
              energy_values, "Energy; null without cluster.power.")
          .add("replications", of_summary(&QueueSummary::replications))
          .add("confidence", itself, confidence_values)
          .add("stopped", of_summary(&QueueSummary::stopped))
          .add("simulated_jobs", of_summary(&QueueSummary::simulated))
          .add("over_time", itself, over_time_values, "Means over equal parts of the horizon.")
          .add("notes", [](Shown shown) { return shown.file.notes; });
  return table;
}

/// The columns of the CSV: "wait_s.p90" is "wait_p90_s".
std::vector<ValueMember> csv_record(const ClassShown& shown) {
  std::vector<ValueMember> record{{"class", value_of(shown.name)},
                                  {"team", value_of(shown.team.value_or(""))},
                                  {"jobs", value_of(shown.jobs.jobs)}};
  const bool any = any_jobs(shown);
  const auto known = [any](double number) { return any ? value_of(number) : Value{}; };
  for (const auto& [group, times] : {std::pair{"wait_", &ClassSummary::wait},
                                     std::pair{"turnaround_", &ClassSummary::turnaround}})
    for (const auto& [name, estimate] : queue_statistics)
      record.push_back(
          {std::string(group) + name + "_s", known((shown.jobs.*times.*estimate).value)});
  record.push_back({"bounded_slowdown", known(shown.jobs.bounded_slowdown.value)});
  record.push_back({"killed", value_of(shown.jobs.killed)});
  record.push_back({"unfinished", value_of(shown.jobs.unfinished)});
  return record;
}

}  // namespace

std::optional<std::array<double, 2>> confidence_of(const QueueEstimate& estimate) {
  if (!estimate.low) return std::nullopt;
  return std::array{*estimate.low, *estimate.high};
}

std::string cluster_json(const ClusterFile& file, const QueueSummary& summary) {
  return json_text(cluster_table(), ClusterShown{file, summary});
}

const ValueRows& cluster_document() { return cluster_table().rows(); }

std::string cluster_csv(const ClusterFile& file, const QueueSummary& summary) {
  CsvText text;
  const ClusterShown shown{file, summary};
  for (const ClassShown& jobs : classes_of(shown)) text.add(csv_record(jobs));
  text.add(csv_record(all_jobs(shown)));
  return text.text();
}

}  // namespace foretrain
