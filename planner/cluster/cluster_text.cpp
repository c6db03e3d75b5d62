// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "planner/cluster/cluster_cost.hpp"
#include "planner/cluster/cluster_report.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

using Align = TextTable::Align;

/// A mean wait that is known less well than that is worth a note.
constexpr double noted_precision = 0.05;

std::string wait_text(double seconds) { return duration_text(Seconds{seconds}); }

/// As short as a cell of a table: "22.4 min".
std::string cell_text(double seconds) {
  if (seconds == 0.0) return "0";
  if (seconds < 60.0) return significant_text(seconds) + " s";
  if (seconds < 3600.0) return significant_text(seconds / 60.0) + " min";
  if (seconds < 2.0 * 86400.0) return significant_text(seconds / 3600.0) + " h";
  return significant_text(seconds / 86400.0) + " d";
}

std::string plus_minus(const QueueEstimate& estimate) {
  if (!estimate.low) return "";
  const double half = *estimate.high - estimate.value;
  return estimate.value > 0.0 ? fmt::format(" +-{:.1f} %", 100.0 * half / estimate.value) : "";
}

std::string machine_line(const ClusterFile& file) {
  const QueueModel& queue = file.queue;
  std::string text = fmt::format("{} x {}, {} GPUs", with_thousands(queue.hosts), file.host.title,
                                 with_thousands(file.gpus()));
  if (queue.leaf_hosts > 0) text += fmt::format(", {} hosts per leaf", queue.leaf_hosts);
  if (queue.failures.every > Seconds{})
    text += fmt::format(", {} spares; each fails every {}", queue.failures.spares,
                        duration_text(queue.failures.every));
  return text;
}

std::string simulated_line(const ClusterFile& file, const QueueSummary& summary) {
  const QueueModel& queue = file.queue;
  std::string text = fmt::format("{} of {}, of which the first {} are not counted",
                                 with_thousands(summary.replications), duration_text(queue.horizon),
                                 duration_text(queue.warm_up));
  if (!(queue.warm_up > Seconds{}))
    text =
        fmt::format("{} of {}", with_thousands(summary.replications), duration_text(queue.horizon));
  const Seconds lead = lead_in(queue);
  text += lead > Seconds{}
              ? fmt::format("; the cluster is in use from {} before", duration_text(lead))
              : "; the cluster starts empty";
  return text + fmt::format("; {} jobs", count_text(static_cast<double>(summary.simulated)));
}

std::string policy_line(const QueuePolicy& policy, bool moldable) {
  std::string text =
      fmt::format("order {}, backfill {}", policy.order->name, policy.backfill->name);
  if (policy.preempt) text += ", preemption";
  if (moldable) text += fmt::format(", moldable jobs {}", policy.molding->name);
  if (policy.placement == HostPlacement::pack) text += ", packed by leaf";
  return text;
}

std::string question_text(const ClusterFile& file, const QueueSummary& summary,
                          const TextStyle& style) {
  std::string text = "\n";
  text += labelled("Cluster", machine_line(file), style, 14);
  text += labelled("Policy", policy_line(file.queue.policy, has_moldable(file.queue)), style, 14);
  text += labelled("Replications", simulated_line(file, summary), style, 14);
  text += labelled(
      "Wait",
      fmt::format("mean {}{}, P50 {}, P90 {}, P99 {}", wait_text(summary.all.wait.mean.value),
                  plus_minus(summary.all.wait.mean), wait_text(summary.all.wait.p50.value),
                  wait_text(summary.all.wait.p90.value), wait_text(summary.all.wait.p99.value)),
      style, 14);
  text += labelled(
      "Utilisation",
      fmt::format("{} of host time allocated{}, {} productive; the jobs want {}",
                  percent_text(summary.allocated.value), plus_minus(summary.allocated),
                  percent_text(summary.productive.value), percent_text(offered_load(file.queue))),
      style, 14);
  text += labelled("Queue",
                   fmt::format("{} jobs wait on average, {} at most in a replication",
                               significant_text(summary.waiting_jobs.value),
                               with_thousands(std::llround(summary.longest_queue))),
                   style, 14);
  return text;
}

std::string classes_text(const ClusterFile& file, const QueueSummary& summary,
                         const TextStyle& style) {
  TextTable waits{{Align::left, Align::right, Align::right, Align::right, Align::right,
                   Align::right, Align::right}};
  waits.add({"class", "jobs", "mean", "+-", "P50", "P90", "P99"});
  TextTable times{{Align::left, Align::right, Align::right, Align::right, Align::right}};
  times.add({"class", "turnaround", "P90", "slowdown", "deadlines met"});
  const auto row = [&](const std::string& name, const ClassSummary& jobs) {
    const double each = static_cast<double>(jobs.jobs) / summary.replications;
    const auto known = [&](std::string text) { return jobs.jobs > 0 ? std::move(text) : "-"; };
    const std::string range = plus_minus(jobs.wait.mean);
    waits.add({cut(name, 20), with_thousands(std::llround(each)),
               known(cell_text(jobs.wait.mean.value)), range.empty() ? "" : range.substr(3),
               known(cell_text(jobs.wait.p50.value)), known(cell_text(jobs.wait.p90.value)),
               known(cell_text(jobs.wait.p99.value))});
    times.add({cut(name, 20), known(cell_text(jobs.turnaround.mean.value)),
               known(cell_text(jobs.turnaround.p90.value)),
               known(significant_text(jobs.bounded_slowdown.value)),
               jobs.in_time ? percent_text(jobs.in_time->value) : "-"});
  };
  for (std::size_t i = 0; i < summary.classes.size(); ++i)
    row(file.queue.classes[i].name, summary.classes[i]);
  if (summary.classes.size() > 1) row("all", summary.all);
  return "\n" + toned("Wait from submission to start", Tone::strong, style) + "\n" +
         waits.text(style) + "\n" +
         toned("Turnaround from submission to end", Tone::strong, style) + "\n" + times.text(style);
}

/// What moldable jobs started with.
std::string sizes_text(const ClusterFile& file, const QueueSummary& summary,
                       const TextStyle& style) {
  TextTable table{{Align::left, Align::right, Align::right, Align::right}};
  table.add({"class", "hosts", "speed", "jobs"});
  bool any = false;
  for (std::size_t i = 0; i < summary.classes.size(); ++i) {
    const ClassSummary& jobs = summary.classes[i];
    for (std::size_t j = 0; j < jobs.sizes.size() && jobs.jobs > 0; ++j) {
      const MoldableSize& size = file.queue.classes[i].moldable[j];
      table.add(
          {j == 0 ? cut(file.queue.classes[i].name, 20) : "", with_thousands(size.hosts),
           significant_text(size.speed),
           percent_text(static_cast<double>(jobs.sizes[j]) / static_cast<double>(jobs.jobs))});
      any = true;
    }
  }
  if (!any) return "";
  return "\n" + toned("Hosts that moldable jobs start with", Tone::strong, style) + "\n" +
         table.text(style);
}

std::string hosts_text(const ClusterFile& file, const QueueSummary& summary,
                       const TextStyle& style) {
  const HostSeconds& hosts = summary.hosts;
  const double whole = file.queue.hosts * (file.queue.horizon - file.queue.warm_up).value();
  TextTable table{{Align::left, Align::right, Align::left}};
  constexpr int cells = 36;
  double from = 0.0;
  const auto row = [&](const char* name, double host_s) {
    const double share = host_s / whole;
    if (share <= 0.0) return;
    table.add({name, percent_text(share),
               span_bar(std::min(1.0, from), std::min(1.0, from + share), cells, style)});
    from += share;
  };
  row("productive", hosts.productive);
  row("shared leaves", hosts.sharing);
  row("job overhead", hosts.overhead);
  row("lost work", hosts.lost);
  row("restarts", hosts.restart);
  row("killed jobs", hosts.killed);
  row("under repair", hosts.down);
  row("idle", std::max(0.0, whole - hosts.allocated - hosts.down));
  return "\n" + toned("Where host time goes", Tone::strong, style) + "\n" + table.text(style);
}

constexpr std::size_t most_teams = 20;  ///< a log may have hundreds

/// All teams in their order, or of many those that used most.
std::vector<std::size_t> by_use(const std::vector<double>& host_s, std::size_t most) {
  std::vector<std::size_t> order(host_s.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (most == order.size()) return order;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return host_s[a] > host_s[b]; });
  order.resize(most);
  return order;
}

std::string teams_text(const ClusterFile& file, const QueueSummary& summary,
                       const TextStyle& style) {
  if (file.queue.teams.size() < 2 && !file.price_per_gpu_s && !file.busy_power) return "";
  double all = 0.0;
  for (const double host_s : summary.team_host_s) all += host_s;
  const auto energy = cluster_energy(file, summary);
  TextTable table{{Align::left, Align::right, Align::right, Align::right, Align::right}};
  table.add({"team", "GPU-hours", "share", "cost", energy ? "energy" : ""});
  const std::size_t shown = std::min(file.queue.teams.size(), most_teams);
  for (const std::size_t i : by_use(summary.team_host_s, shown)) {
    const double gpu_s = summary.team_host_s[i] * file.host.gpus;
    table.add({cut(file.queue.teams[i].name, 24), count_text(gpu_s / 3600.0),
               all > 0.0 ? percent_text(summary.team_host_s[i] / all) : "-",
               file.price_per_gpu_s ? dollars_text(Dollars{gpu_s * *file.price_per_gpu_s}) : "-",
               energy ? energy_text(energy->teams[i]) : ""});
  }
  if (energy) {
    table.add({"idle hosts", "", "", "", energy_text(energy->idle)});
    table.add({"together", "", "", "", energy_text(energy->together)});
  }
  std::string text = "\n" + toned("Teams", Tone::strong, style) + "\n" + table.text(style);
  if (shown < file.queue.teams.size())
    text += hanging("  ",
                    fmt::format("and {} more, which used less (--json has all).",
                                file.queue.teams.size() - shown),
                    style);
  return text;
}

/// One bar per stretch of the horizon.
std::string over_time_text(const ClusterFile& file, const QueueSummary& summary,
                           const TextStyle& style) {
  constexpr std::size_t rows = 12;
  constexpr int cells = 24;
  const std::size_t group = std::max<std::size_t>(1, summary.bins.size() / rows);
  const double bin_s = file.queue.horizon.value() / static_cast<double>(summary.bins.size());
  TextTable table{{Align::right, Align::right, Align::left, Align::right, Align::left}};
  table.add({"day", "hosts", "", "waiting", ""});
  std::vector<std::pair<double, double>> means;
  double most = 0.0;
  for (std::size_t i = 0; i + group <= summary.bins.size(); i += group) {
    double used = 0.0;
    double waiting = 0.0;
    for (std::size_t j = i; j < i + group; ++j) {
      used += summary.bins[j].allocated / static_cast<double>(group);
      waiting += summary.bins[j].waiting_jobs / static_cast<double>(group);
    }
    means.emplace_back(used, waiting);
    most = std::max(most, waiting);
  }
  for (std::size_t i = 0; i < means.size(); ++i) {
    const auto& [used, waiting] = means[i];
    table.add({fixed_text(static_cast<double>(i * group) * bin_s / 86400.0, 0), fixed_text(used, 1),
               span_bar(0.0, std::min(1.0, used / file.queue.hosts), cells, style),
               fixed_text(waiting, waiting < 10.0 ? 2 : 1),
               most > 0.0 ? span_bar(0.0, waiting / most, cells, style) : ""});
  }
  return "\n" + toned("Hosts in use and waiting jobs over time, means", Tone::strong, style) +
         "\n" + table.text(style);
}

std::string incidents_text(const ClusterFile& file, const QueueSummary& summary,
                           const TextStyle& style) {
  std::vector<std::string> said;
  const ClassSummary& all = summary.all;
  if (summary.failures > 0.0)
    said.push_back(fmt::format("{} host failures per replication interrupt {} jobs.",
                               significant_text(summary.failures),
                               significant_text(summary.interrupted)));
  if (summary.preempted > 0.0)
    said.push_back(
        fmt::format("{} jobs per replication are preempted.", significant_text(summary.preempted)));
  if (all.killed > 0)
    said.push_back(
        fmt::format("{} of jobs are killed at their time limit.",
                    percent_text(static_cast<double>(all.killed) / static_cast<double>(all.jobs))));
  if (all.rented > 0)
    said.push_back(
        fmt::format("{} of jobs leave for rented hosts, after waiting {}; their wait is that.",
                    percent_text(static_cast<double>(all.rented) / static_cast<double>(all.jobs)),
                    duration_text(*file.queue.burst_after)));
  if (all.unfinished > 0)
    said.push_back(
        fmt::format("{} jobs could never start or end, and are not in the figures: "
                    "their time limits do not fit between maintenance.",
                    with_thousands(all.unfinished)));
  if (all.scattered > 0)
    said.push_back(fmt::format(
        "{} of jobs start on more leaves than they need.",
        percent_text(static_cast<double>(all.scattered) / static_cast<double>(all.jobs))));
  if (!summary.precise && summary.precision > noted_precision)
    said.push_back(
        fmt::format("The mean wait of a class is known to {:.1f} % only; "
                    "workload.replications asks for more.",
                    100.0 * summary.precision));
  if (summary.stopped) said.emplace_back("Interrupted: fewer replications than wanted.");
  said.insert(said.end(), file.notes.begin(), file.notes.end());
  std::string text;
  for (const std::string& each : said) text += hanging("  ", each, style);
  return text.empty() ? text : "\n" + toned("Notes", Tone::strong, style) + "\n" + text;
}

}  // namespace

AnswerHead cluster_head(const ClusterFile& file, const QueueSummary& summary) {
  AnswerHead head;
  head.subject = file.name;
  head.made_by = "simulated";
  head.words = "queue";
  const double load = offered_load(file.queue);
  if (load > 1.0) {
    head.verdict = Verdict::no;
    head.words = "OVERLOADED";
  }
  const auto& wait = summary.all.wait;
  head.sentence = fmt::format("Jobs wait {} on average; nine of ten start within {}.",
                              wait_text(wait.mean.value), wait_text(wait.p90.value));
  if (!file.notes.empty()) head.sentence += " " + file.notes.front();
  head.figures = {{"Wait", wait_text(wait.mean.value), plus_minus(wait.mean)},
                  {"Wait, P90", wait_text(wait.p90.value), plus_minus(wait.p90)},
                  {"Utilisation", percent_text(summary.allocated.value),
                   plus_minus(summary.allocated), "the jobs want " + percent_text(load)}};
  return head;
}

std::string cluster_text(const ClusterFile& file, const QueueSummary& summary,
                         const TextStyle& style) {
  return head_text(cluster_head(file, summary), style) + question_text(file, summary, style) +
         classes_text(file, summary, style) + sizes_text(file, summary, style) +
         hosts_text(file, summary, style) + teams_text(file, summary, style) +
         cost_text(file, summary, style) + over_time_text(file, summary, style) +
         incidents_text(file, summary, style);
}

}  // namespace foretrain
