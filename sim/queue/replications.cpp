// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "models/base/percentile.hpp"
#include "models/base/require.hpp"
#include "sim/queue/internal/replications.hpp"

namespace foretrain {
namespace internal {
namespace {

/// 97.5th percentile of Student's t: exact for few degrees of freedom, else by the expansion of
/// Cornish and Fisher (Abramowitz and Stegun, 26.7.5), right to 1e-3.
double student(std::size_t freedom) {
  constexpr std::array<double, 5> exact{12.7062, 4.3027, 3.1824, 2.7764, 2.5706};
  if (freedom <= exact.size()) return exact[freedom - 1];
  constexpr double z = 1.959963984540054;
  const auto n = static_cast<double>(freedom);
  const double first = (std::pow(z, 3) + z) / 4.0;
  const double second = (5.0 * std::pow(z, 5) + 16.0 * std::pow(z, 3) + 3.0 * z) / 96.0;
  return z + first / n + second / (n * n);
}

}  // namespace

double PerReplication::mean() const {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double PerReplication::half_interval() const {
  const double middle = mean();
  double squares = 0.0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  const auto count = static_cast<double>(values.size());
  return student(values.size() - 1) * std::sqrt(squares / (count - 1.0) / count);
}

QueueEstimate PerReplication::around(double value, double most) const {
  if (values.size() < 2) return {value, {}, {}};
  const double half = half_interval();
  return {value, std::max(0.0, value - half), std::min(most, value + half)};
}

void TimesGathered::add(std::vector<float>& times) {
  if (times.empty()) return;
  const double sum = std::accumulate(times.begin(), times.end(), 0.0);
  sum_ += sum;
  mean_.add(sum / static_cast<double>(times.size()));
  for (std::size_t i = 0; i < shares.size(); ++i)
    percentiles_[i].add(share_below(times, shares[i]));
  all_.insert(all_.end(), times.begin(), times.end());
}

QueueTimes TimesGathered::summary() {
  if (all_.empty()) return {};
  QueueTimes times;
  times.mean = mean_.around(sum_ / static_cast<double>(all_.size()));
  times.p50 = percentiles_[0].around(share_below(all_, shares[0]));
  times.p90 = percentiles_[1].around(share_below(all_, shares[1]));
  times.p99 = percentiles_[2].around(share_below(all_, shares[2]));
  return times;
}

double TimesGathered::precision() const {
  if (all_.empty() || sum_ == 0.0) return 0.0;
  if (mean_.values.size() < 2) return std::numeric_limits<double>::infinity();
  return mean_.half_interval() * static_cast<double>(all_.size()) / sum_;
}

SamplesGathered::SamplesGathered(const QueueModel& model)
    : model_{model},
      counted_host_s_{model.hosts * (model.horizon - model.warm_up).value()},
      waits_(model.classes.size() + 1),
      turnarounds_(model.classes.size() + 1),
      slowdowns_(model.classes.size() + 1),
      in_time_(model.classes.size() + 1) {
  summary_.classes.resize(model.classes.size());
  summary_.team_host_s.assign(model.teams.size(), 0.0);
  summary_.team_rented_s.assign(model.teams.size(), 0.0);
}

void SamplesGathered::add(QueueSample sample) {
  ++summary_.replications;
  summary_.simulated += sample.simulated;
  summary_.effort += sample.effort;
  ClassSample all;
  std::int64_t with_deadline = 0;
  for (std::size_t i = 0; i < sample.classes.size(); ++i) {
    ClassSample& jobs = sample.classes[i];
    all.wait.insert(all.wait.end(), jobs.wait.begin(), jobs.wait.end());
    all.turnaround.insert(all.turnaround.end(), jobs.turnaround.begin(), jobs.turnaround.end());
    all.bounded_slowdown += jobs.bounded_slowdown;
    if (model_.classes[i].deadline) {
      with_deadline += static_cast<std::int64_t>(jobs.wait.size());
      all.in_time += jobs.in_time;
    }
    add_class(i, jobs);
  }
  if (with_deadline > 0)
    in_time_.back().add(static_cast<double>(all.in_time) / static_cast<double>(with_deadline));
  if (sample.classes.size() > 1) {
    waits_.back().add(all.wait);
    turnarounds_.back().add(all.turnaround);
    if (!all.turnaround.empty())
      slowdowns_.back().add(all.bounded_slowdown / static_cast<double>(all.turnaround.size()));
  }
  add_hosts(sample);
  add_bins(sample);
}

void SamplesGathered::add_class(std::size_t index, ClassSample& sample) {
  ClassSummary& summary = summary_.classes[index];
  summary.jobs += static_cast<std::int64_t>(sample.wait.size());
  summary.killed += sample.killed;
  summary.unfinished += sample.unfinished;
  summary.rented += sample.rented;
  summary.sizes.resize(sample.sizes.size());
  for (std::size_t i = 0; i < sample.sizes.size(); ++i) summary.sizes[i] += sample.sizes[i];
  summary.scattered += sample.scattered;
  if (model_.classes[index].deadline && !sample.wait.empty())
    in_time_[index].add(static_cast<double>(sample.in_time) /
                        static_cast<double>(sample.wait.size()));
  if (!sample.turnaround.empty())
    slowdowns_[index].add(sample.bounded_slowdown / static_cast<double>(sample.turnaround.size()));
  waits_[index].add(sample.wait);
  turnarounds_[index].add(sample.turnaround);
}

void SamplesGathered::add_hosts(const QueueSample& sample) {
  allocated_.add(sample.hosts.allocated / counted_host_s_);
  productive_.add(sample.hosts.productive / counted_host_s_);
  waiting_.add(sample.waiting_job_s / (model_.horizon - model_.warm_up).value());
  for (double HostSeconds::*row :
       {&HostSeconds::allocated, &HostSeconds::productive, &HostSeconds::sharing,
        &HostSeconds::overhead, &HostSeconds::lost, &HostSeconds::restart, &HostSeconds::killed,
        &HostSeconds::down, &HostSeconds::rented})
    summary_.hosts.*row += sample.hosts.*row;
  for (std::size_t i = 0; i < sample.team_host_s.size(); ++i)
    summary_.team_host_s[i] += sample.team_host_s[i];
  for (std::size_t i = 0; i < sample.team_rented_s.size(); ++i)
    summary_.team_rented_s[i] += sample.team_rented_s[i];
  summary_.longest_queue += sample.longest_queue;
  summary_.failures += static_cast<double>(sample.failures);
  summary_.interrupted += static_cast<double>(sample.interrupted);
  summary_.preempted += static_cast<double>(sample.preempted);
}

void SamplesGathered::add_bins(const QueueSample& sample) {
  summary_.bins.resize(sample.bins.size());
  waiting_by_bin_.resize(sample.bins.size());
  for (std::size_t i = 0; i < sample.bins.size(); ++i) {
    for (double QueueBin::*row :
         {&QueueBin::waiting_jobs, &QueueBin::waiting_hosts, &QueueBin::allocated, &QueueBin::down})
      summary_.bins[i].*row += sample.bins[i].*row;
    waiting_by_bin_[i].push_back(static_cast<float>(sample.bins[i].waiting_jobs));
  }
}

double SamplesGathered::precision() const {
  double widest = 0.0;
  for (std::size_t i = 0; i + 1 < waits_.size(); ++i)
    widest = std::max(widest, waits_[i].precision());
  return widest;
}

QueueSummary SamplesGathered::finish() {
  const double share = 1.0 / summary_.replications;
  summary_.precision = precision();
  ClassSummary& all = summary_.all;
  for (std::size_t i = 0; i < summary_.classes.size(); ++i) {
    ClassSummary& jobs = summary_.classes[i];
    jobs.wait = waits_[i].summary();
    jobs.turnaround = turnarounds_[i].summary();
    jobs.bounded_slowdown =
        slowdowns_[i].values.empty() ? QueueEstimate{} : slowdowns_[i].around(slowdowns_[i].mean());
    if (!in_time_[i].values.empty()) jobs.in_time = in_time_[i].around(in_time_[i].mean(), 1.0);
    all.jobs += jobs.jobs;
    all.killed += jobs.killed;
    all.unfinished += jobs.unfinished;
    all.rented += jobs.rented;
    all.scattered += jobs.scattered;
  }
  if (summary_.classes.size() == 1) {
    all = summary_.classes.front();
  } else {
    all.wait = waits_.back().summary();
    all.turnaround = turnarounds_.back().summary();
    if (!slowdowns_.back().values.empty())
      all.bounded_slowdown = slowdowns_.back().around(slowdowns_.back().mean());
  }
  if (!in_time_.back().values.empty())
    all.in_time = in_time_.back().around(in_time_.back().mean(), 1.0);
  summary_.allocated = allocated_.around(allocated_.mean(), 1.0);
  summary_.productive = productive_.around(productive_.mean(), 1.0);
  summary_.waiting_jobs = waiting_.around(waiting_.mean());
  for (double HostSeconds::*row :
       {&HostSeconds::allocated, &HostSeconds::productive, &HostSeconds::sharing,
        &HostSeconds::overhead, &HostSeconds::lost, &HostSeconds::restart, &HostSeconds::killed,
        &HostSeconds::down, &HostSeconds::rented})
    summary_.hosts.*row *= share;
  for (double& team : summary_.team_host_s) team *= share;
  for (double& team : summary_.team_rented_s) team *= share;
  for (double* count :
       {&summary_.longest_queue, &summary_.failures, &summary_.interrupted, &summary_.preempted})
    *count *= share;
  for (std::size_t i = 0; i < summary_.bins.size(); ++i) {
    for (double QueueBin::*row :
         {&QueueBin::waiting_jobs, &QueueBin::waiting_hosts, &QueueBin::allocated, &QueueBin::down})
      summary_.bins[i].*row *= share;
    summary_.waiting_p90.push_back(share_below(waiting_by_bin_[i], 0.9));
  }
  return std::move(summary_);
}

}  // namespace internal

double share_below(std::vector<float>& values, double share) {
  return values.empty() ? 0.0 : percentile_of(values, share);
}

}  // namespace foretrain
