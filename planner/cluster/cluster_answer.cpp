// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "planner/cluster/cluster_report.hpp"
#include "planner/cluster/internal/cluster_charts.hpp"
#include "planner/text/format.hpp"
#include "planner/text/ticks.hpp"

namespace foretrain {
namespace {

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

/// "+-4.2 %"; of an interval that ends at a bound of what is measured its longer side.
std::string plus_minus(const QueueEstimate& estimate) {
  if (!estimate.low || estimate.value <= 0.0) return "";
  const double half = std::max(*estimate.high - estimate.value, estimate.value - *estimate.low);
  return fmt::format("+-{:.1f} %", 100.0 * half / estimate.value);
}

std::string with_range(const std::string& text, const QueueEstimate& estimate) {
  const std::string range = plus_minus(estimate);
  return range.empty() ? text : text + " " + range;
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

AnswerFacts question_facts(const ClusterFile& file, const QueueSummary& summary) {
  AnswerFacts facts;
  facts.add("Cluster", machine_line(file));
  facts.add("Policy", policy_line(file.queue.policy, has_moldable(file.queue)));
  facts.add("Replications", simulated_line(file, summary));
  facts.add(
      "Wait",
      fmt::format("mean {}, P50 {}, P90 {}, P99 {}",
                  with_range(wait_text(summary.all.wait.mean.value), summary.all.wait.mean),
                  wait_text(summary.all.wait.p50.value), wait_text(summary.all.wait.p90.value),
                  wait_text(summary.all.wait.p99.value)));
  facts.add(
      "Utilisation",
      fmt::format("{}, {} productive; the jobs want {}",
                  with_range(percent_text(summary.allocated.value) + " of host time allocated",
                             summary.allocated),
                  percent_text(summary.productive.value), percent_text(offered_load(file.queue))));
  facts.add("Queue", fmt::format("{} jobs wait on average, {} at most in a replication",
                                 significant_text(summary.waiting_jobs.value),
                                 with_thousands(std::llround(summary.longest_queue))));
  return facts;
}

void add_classes(const ClusterFile& file, const QueueSummary& summary, Answer& answer) {
  AnswerTable waits{{words_column("class"), number_column("jobs"), number_column("mean"),
                     number_column("+-"), number_column("P50"), number_column("P90"),
                     number_column("P99")}};
  AnswerTable times{{words_column("class"), number_column("turnaround"), number_column("P90"),
                     number_column("slowdown"), number_column("deadlines met")}};
  const auto row = [&](const std::string& name, const ClassSummary& jobs) {
    const double each = static_cast<double>(jobs.jobs) / summary.replications;
    const auto known = [&](std::string text) { return jobs.jobs > 0 ? std::move(text) : "-"; };
    const std::string range = plus_minus(jobs.wait.mean);
    waits.add({name, with_thousands(std::llround(each)), known(cell_text(jobs.wait.mean.value)),
               range.empty() ? "" : range.substr(2), known(cell_text(jobs.wait.p50.value)),
               known(cell_text(jobs.wait.p90.value)), known(cell_text(jobs.wait.p99.value))});
    times.add({name, known(cell_text(jobs.turnaround.mean.value)),
               known(cell_text(jobs.turnaround.p90.value)),
               known(significant_text(jobs.bounded_slowdown.value)),
               jobs.in_time ? percent_text(jobs.in_time->value) : "-"});
  };
  for (std::size_t i = 0; i < summary.classes.size(); ++i)
    row(file.queue.classes[i].name, summary.classes[i]);
  if (summary.classes.size() > 1) row("all", summary.all);
  answer.add(
      {"Wait from submission to start",
       {std::move(waits), AnswerPicture{internal::waits_chart(file, summary), "Waits by class"}}});
  answer.add("Turnaround from submission to end", std::move(times));
}

/// What moldable jobs started with.
AnswerTable sizes_table(const ClusterFile& file, const QueueSummary& summary) {
  AnswerTable table{{words_column("class"), number_column("hosts"), number_column("speed"),
                     number_column("jobs")}};
  for (std::size_t i = 0; i < summary.classes.size(); ++i) {
    const ClassSummary& jobs = summary.classes[i];
    for (std::size_t j = 0; j < jobs.sizes.size() && jobs.jobs > 0; ++j) {
      const MoldableSize& size = file.queue.classes[i].moldable[j];
      table.add(
          {j == 0 ? file.queue.classes[i].name : "", with_thousands(size.hosts),
           significant_text(size.speed),
           percent_text(static_cast<double>(jobs.sizes[j]) / static_cast<double>(jobs.jobs))});
    }
  }
  return table;
}

AnswerTable hosts_table(const ClusterFile& file, const QueueSummary& summary) {
  const HostSeconds& hosts = summary.hosts;
  const double whole = file.queue.hosts * (file.queue.horizon - file.queue.warm_up).value();
  AnswerTable table{{words_column(), number_column(), words_column()}};
  double from = 0.0;
  const auto row = [&](const char* name, double host_s) {
    const double share = host_s / whole;
    if (share <= 0.0) return;
    table.add(
        {name, percent_text(share), AnswerBar{std::min(1.0, from), std::min(1.0, from + share)}});
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
  return table;
}

constexpr std::size_t most_teams = 20;  ///< a log may have hundreds

/// All teams in their order, or of many those that used most.
std::vector<std::size_t> by_use(const std::vector<double>& host_s, std::size_t most) {
  std::vector<std::size_t> order(host_s.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (most == order.size()) return order;
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return host_s[a] > host_s[b]; });
  order.resize(most);
  return order;
}

AnswerSection teams_section(const ClusterFile& file, const QueueSummary& summary) {
  AnswerSection section{"Teams"};
  if (file.queue.teams.size() < 2 && !file.price_per_gpu_s && !file.busy_power) return section;
  double all = 0.0;
  for (const double host_s : summary.team_host_s) all += host_s;
  const auto energy = cluster_energy(file, summary);
  AnswerTable table{{words_column("team"), number_column("GPU-hours"), number_column("share"),
                     number_column("cost"), number_column(energy ? "energy" : "")}};
  const std::size_t shown = std::min(file.queue.teams.size(), most_teams);
  for (const std::size_t i : by_use(summary.team_host_s, shown)) {
    const double gpu_s = summary.team_host_s[i] * file.host.gpus;
    table.add({file.queue.teams[i].name, count_text(gpu_s / 3600.0),
               all > 0.0 ? percent_text(summary.team_host_s[i] / all) : "-",
               file.price_per_gpu_s ? dollars_text(Dollars{gpu_s * *file.price_per_gpu_s}) : "-",
               energy ? energy_text(energy->teams[i]) : ""});
  }
  if (energy) {
    table.add({"idle hosts", "", "", "", energy_text(energy->idle)});
    table.add({"together", "", "", "", energy_text(energy->together)});
  }
  section.blocks.emplace_back(std::move(table));
  if (shown < file.queue.teams.size())
    section.blocks.emplace_back(AnswerLine{fmt::format(
        "and {} more, which used less (--json has all).", file.queue.teams.size() - shown)});
  return section;
}

/// One bar per stretch of the horizon.
AnswerTable over_time_table(const ClusterFile& file, const QueueSummary& summary) {
  const double days = file.queue.horizon.value() / 86400.0;
  const double step = round_step(days, 14);
  struct Stretch {
    double used = 0.0;
    double waiting = 0.0;
    double bins = 0.0;
  };
  std::vector<Stretch> stretches(static_cast<std::size_t>(std::ceil(days / step - 1e-9)));
  const double bin = days / static_cast<double>(summary.bins.size());
  for (std::size_t i = 0; i < summary.bins.size(); ++i) {
    const auto at = static_cast<std::size_t>((static_cast<double>(i) + 0.5) * bin / step);
    Stretch& stretch = stretches[std::min(at, stretches.size() - 1)];
    stretch.used += summary.bins[i].allocated;
    stretch.waiting += summary.bins[i].waiting_jobs;
    stretch.bins += 1.0;
  }
  double most = 0.0;
  for (const Stretch& stretch : stretches)
    most = std::max(most, stretch.waiting / std::max(1.0, stretch.bins));
  AnswerTable table{{number_column("day"), number_column("hosts"), words_column(),
                     number_column("waiting"), words_column()}};
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    if (stretches[i].bins == 0.0) continue;
    const double used = stretches[i].used / stretches[i].bins;
    const double waiting = stretches[i].waiting / stretches[i].bins;
    AnswerBar hosts{0.0, std::min(1.0, used / file.queue.hosts)};
    hosts.columns = 24;
    table.add({fmt::format("{:g}", static_cast<double>(i) * step), fixed_text(used, 1), hosts,
               fixed_text(waiting, waiting < 10.0 ? 2 : 1),
               AnswerBar{0.0, most > 0.0 ? waiting / most : 0.0}});
  }
  return table;
}

AnswerSection notes_section(const ClusterFile& file, const QueueSummary& summary) {
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
  AnswerSection section{"Notes"};
  for (const std::string& each : said) section.blocks.emplace_back(AnswerLine{each});
  return section;
}

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

}  // namespace

Answer cluster_answer(const ClusterFile& file, const QueueSummary& summary,
                      const std::vector<ScheduledStretch>& schedule) {
  Answer answer{cluster_head(file, summary)};
  answer.add("", question_facts(file, summary));
  add_classes(file, summary, answer);
  answer.add("Hosts that moldable jobs start with", sizes_table(file, summary));
  answer.add("Where host time goes", hosts_table(file, summary));
  answer.add(teams_section(file, summary));
  answer.add(cost_section(file, summary));
  const char* const over_time = "Hosts in use and waiting jobs over time, means";
  answer.add(over_time, over_time_table(file, summary), AnswerPlace::terminal);
  answer.add(
      over_time,
      AnswerPicture{cluster_chart(file, summary, picture_space({}, 920.0, 450.0)), over_time},
      AnswerPlace::pages);
  if (schedule.empty())
    answer.add("", AnswerLine{"Jobs are too many here, or none ran: no schedule is drawn."},
               AnswerPlace::pages);
  else
    answer.add(internal::schedule_section(file, schedule));
  answer.add(notes_section(file, summary));
  return answer;
}

}  // namespace foretrain
