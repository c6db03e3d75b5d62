// SPDX-License-Identifier: Apache-2.0
#include "planner/cluster/workload_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/base/percentile.hpp"
#include "planner/cluster/internal/workload_groups.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

using internal::JobGroup;

// A law describes durations if it is that close to them, or if more would be seen in one of a
// hundred samples of the law itself (Kolmogorov's asymptotic quantile), and has their mean.
constexpr double near_distance = 0.05;
constexpr double seldom_distance = 1.63;
constexpr double near_mean = 0.05;
constexpr double standard_errors = 3.0;
/// Of fewer durations none is fitted.
constexpr std::size_t fewest_durations = 20;

bool describes(const DurationFit& fit, const std::vector<double>& sorted, double mean) {
  const auto count = static_cast<double>(sorted.size());
  if (fit.distance > std::max(near_distance, seldom_distance / std::sqrt(count))) return false;
  double squares = 0.0;
  for (const double value : sorted) squares += (value - mean) * (value - mean);
  const double error = std::sqrt(squares) / count;
  return std::abs(fit.law.mean().value() - mean) <=
         std::max(near_mean * mean, standard_errors * error);
}

void fit_class_durations(std::vector<double> seconds, FittedClass& fitted) {
  std::ranges::sort(seconds);
  const double mean =
      std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  fitted.log_mean = Seconds{mean};
  fitted.laws = fit_durations(seconds);
  const DurationFit& best = fitted.laws.front();
  const bool enough = best.law.kind == DurationKind::fixed || seconds.size() >= fewest_durations;
  if (enough && describes(best, seconds, mean)) {
    fitted.duration = best.law;
    fitted.distance = best.distance;
    return;
  }
  fitted.duration = measured_durations(seconds, most_measured);
  fitted.distance = distance_of(fitted.duration, seconds);
}

/// How common the sizes are; the rarest beyond `most_sizes` as one of their mean.
std::vector<JobSize> sizes_of(const std::vector<int>& hosts) {
  std::map<int, double> counts;
  for (const int each : hosts) ++counts[each];
  std::vector<JobSize> sizes;
  for (const auto& [each, count] : counts) sizes.push_back({each, count});
  if (sizes.size() <= most_sizes) return sizes;
  std::ranges::stable_sort(sizes,
                           [](const JobSize& a, const JobSize& b) { return a.weight > b.weight; });
  double weight = 0.0;
  double sum = 0.0;
  for (std::size_t i = most_sizes - 1; i < sizes.size(); ++i) {
    weight += sizes[i].weight;
    sum += sizes[i].weight * sizes[i].hosts;
  }
  sizes.resize(most_sizes - 1);
  const int mean = std::max(1, static_cast<int>(std::lround(sum / weight)));
  const auto same =
      std::ranges::find_if(sizes, [mean](const JobSize& size) { return size.hosts == mean; });
  if (same != sizes.end())
    same->weight += weight;
  else
    sizes.push_back({mean, weight});
  std::ranges::sort(sizes, [](const JobSize& a, const JobSize& b) { return a.hosts < b.hosts; });
  return sizes;
}

double spread_of_logs(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += std::log(value);
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0.0;
  for (const double value : values) squares += std::pow(std::log(value) - mean, 2);
  return squares;
}

/// One limit for all where limits vary less than limits over durations, and where it kills no more
/// of the model's jobs than of the log's; else a factor.
LimitFit limits_of(const std::vector<const ListedJob*>& jobs, const DurationLaw& duration) {
  LimitFit fit;
  std::vector<double> times;
  std::vector<double> factors;
  for (const ListedJob* job : jobs) {
    if (!job->limit || !(*job->limit > Seconds{})) continue;
    ++fit.told;
    if (*job->duration >= *job->limit) ++fit.reached;
    times.push_back(job->limit->value());
    factors.push_back(std::max(1.0, *job->limit / *job->duration));
  }
  if (2 * fit.told < static_cast<std::int64_t>(jobs.size())) return fit;
  const double time = median_of(times);
  // Of n jobs none of which did, three in n may (the rule of three).
  const auto told = static_cast<double>(fit.told);
  const double killed = static_cast<double>(fit.reached) / told + std::max(0.01, 3.0 / told);
  if (spread_of_logs(times) <= spread_of_logs(factors) &&
      1.0 - duration.share_within(Seconds{time}) <= killed)
    fit.time = Seconds{time};
  else
    fit.factor = median_of(factors);
  return fit;
}

FittedClass fitted_class(const LoggedJobs& log, const JobGroup& group, const LogWindow& window) {
  FittedClass fitted;
  fitted.name = group.name;
  fitted.team = group.team;
  fitted.jobs = static_cast<std::int64_t>(group.jobs.size());
  std::vector<double> submits;
  std::vector<double> seconds;
  std::vector<int> hosts;
  std::vector<const ListedJob*> jobs;
  for (const std::size_t index : group.jobs) {
    const ListedJob& job = log.jobs[index];
    submits.push_back(job.submit.value());
    seconds.push_back(job.duration->value());
    hosts.push_back(*job.hosts);
    jobs.push_back(&job);
    fitted.log_hosts += *job.hosts * job.duration->value() / window.seconds();
  }
  std::ranges::sort(submits);
  fitted.arrivals = fit_arrivals(submits, window);
  fitted.sizes = sizes_of(hosts);
  fit_class_durations(std::move(seconds), fitted);
  fitted.limit = limits_of(jobs, fitted.duration);
  QueueClass model;
  model.sizes = fitted.sizes;
  fitted.model_hosts = fitted.arrivals.law.rate * fitted.duration.mean() * model.mean_hosts();
  return fitted;
}

/// Most hosts in use at a time; nothing where a start is not known.
std::optional<int> most_in_use(const LoggedJobs& log, const std::vector<std::size_t>& ran) {
  if (log.waits.empty()) return std::nullopt;
  std::vector<std::pair<double, int>> changes;
  for (const std::size_t index : ran) {
    const ListedJob& job = log.jobs[index];
    if (log.waits[index] < 0.0F) return std::nullopt;
    const double start = job.submit.value() + static_cast<double>(log.waits[index]);
    changes.emplace_back(start, *job.hosts);
    // Logs round to a second: who ends and who starts within one may have the same host.
    const double rounding = std::min(1.0, 0.5 * job.duration->value());
    changes.emplace_back(start + job.duration->value() - rounding, -*job.hosts);
  }
  std::ranges::sort(changes);
  std::int64_t used = 0;
  std::int64_t most = 0;
  for (const auto& [time, hosts] : changes) most = std::max(most, used += hosts);
  constexpr std::int64_t most_hosts = 1'000'000;
  if (most > most_hosts) return std::nullopt;
  return static_cast<int>(most);
}

int hosts_for(const WorkloadFit& fit) {
  if (fit.request.hosts) return *fit.request.hosts;
  if (fit.most_in_use) return *fit.most_in_use;
  throw UsageError(
      "how many hosts the cluster has is not known, since the log does not say when jobs started: "
      "give --hosts N");
}

/// "'a', 'b', 'c' and 3 more"
std::string few_of(const std::vector<std::string>& words) {
  constexpr std::size_t shown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, words.size()); ++i)
    text += (i == 0 ? "" : ", ") + words[i];
  if (words.size() > shown) text += fmt::format(" and {} more", words.size() - shown);
  return text;
}

void note_classes(WorkloadFit& fit) {
  constexpr double bursty = 3.0;
  std::vector<std::string> measured;
  std::vector<std::string> in_bursts;
  for (const FittedClass& each : fit.classes) {
    if (each.is_measured())
      measured.push_back(fmt::format("{} ({}: KS {:.3f})", in_quotes(each.name),
                                     name_of(each.laws.front().law.kind),
                                     each.laws.front().distance));
    if (each.arrivals.dispersion.value_or(1.0) > bursty) in_bursts.push_back(in_quotes(each.name));
    if (each.arrivals.growth)
      fit.notes.push_back(
          fmt::format("Jobs of {} came {:.2f} times as often in the second half of the log as in "
                      "the first; the model has the mean.",
                      in_quotes(each.name), *each.arrivals.growth));
  }
  if (!measured.empty())
    fit.notes.push_back(fmt::format(
        "No law describes the durations of {}: measured ones stand for them, at most {} a class.",
        few_of(measured), most_measured));
  if (!in_bursts.empty())
    fit.notes.push_back(fmt::format(
        "Jobs of {} come in bursts: their number per day varies over {:.0f} times as much as the "
        "model's, whose waits are too short for that. Replay the log to see by how much.",
        few_of(in_bursts), bursty));
}

void add_workload_notes(const LoggedJobs& log, WorkloadFit& fit) {
  if (!fit.request.hosts)
    fit.notes.push_back(
        fmt::format("The cluster has {} hosts because that many were in use at a time; it may "
                    "have more.",
                    with_thousands(fit.hosts)));
  fit.notes.emplace_back(
      "Logs do not show the policy: the file has order fifo with backfill easy. Write yours.");
  // What was left out is counted beside the fit.
  LoggedJobs told = log;
  told.left_out = 0;
  for (std::string& note : log_notes("the log", told, OpenJobs::left_out))
    fit.notes.push_back(std::move(note));
  if (!log.from_monday)
    fit.notes.emplace_back(
        "Days and weeks count from the start of the log, whatever hour and day that was.");
  note_classes(fit);
  double log_hosts = 0.0;
  double model_hosts = 0.0;
  for (const FittedClass& each : fit.classes) {
    log_hosts += each.log_hosts;
    model_hosts += each.model_hosts;
  }
  constexpr double noted_difference = 0.03;
  if (std::abs(model_hosts / log_hosts - 1.0) > noted_difference)
    fit.notes.push_back(
        fmt::format("The model wants {:.1f} hosts on average and the log {:.1f}: in a class longer "
                    "jobs have other sizes, or the law's mean is another.",
                    model_hosts, log_hosts));
}

}  // namespace

int WorkloadFit::horizon_days() const {
  return std::max(1, static_cast<int>(std::ceil(Seconds{window.seconds()} / days)));
}

WorkloadFit fit_workload(const LoggedJobs& log, const WorkloadFitRequest& request) {
  WorkloadFit fit;
  fit.request = request;
  std::vector<std::size_t> ran;
  for (std::size_t i = 0; i < log.jobs.size(); ++i)
    if (*log.jobs[i].duration > Seconds{}) ran.push_back(i);
  fit.jobs = static_cast<std::int64_t>(ran.size());
  fit.left_out = log.left_out + static_cast<std::int64_t>(log.jobs.size() - ran.size());
  if (ran.size() < 2) throw UsageError("a model takes two jobs that ran at least");
  const auto earlier = [&log](std::size_t a, std::size_t b) {
    return log.jobs[a].submit < log.jobs[b].submit;
  };
  const auto [first, last] = std::minmax_element(ran.begin(), ran.end(), earlier);
  fit.window = {log.jobs[*first].submit.value(), log.jobs[*last].submit.value()};
  const double longest_s = 100.0 * 366.0 * days.value();
  if (!(fit.window.seconds() > 0.0))
    throw UsageError("all jobs of the log were submitted at one instant: no rate can be told");
  if (fit.window.seconds() > longest_s || fit.window.to > 10.0 * longest_s)
    throw UsageError("the log spans more than a hundred years: are its times seconds?");
  fit.most_in_use = most_in_use(log, ran);
  fit.hosts = hosts_for(fit);
  for (const JobGroup& group : internal::job_groups(log, ran, request))
    fit.classes.push_back(fitted_class(log, group, fit.window));
  add_workload_notes(log, fit);
  return fit;
}

}  // namespace foretrain
