// SPDX-License-Identifier: Apache-2.0
#include "sim/queue/queue_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace foretrain {
namespace {

double by_submission(const OrderedJob& job, const QueuePolicy& /*policy*/) {
  return job.submit.value();
}

/// Priority grows alike for all that wait, so that the order of two jobs never changes.
double by_priority(const OrderedJob& job, const QueuePolicy& policy) {
  return policy.points_per_second * job.submit.value() - job.priority;
}

double by_limit(const OrderedJob& job, const QueuePolicy& /*policy*/) { return job.limit.value(); }

double smallest_first(const OrderedJob& job, const QueuePolicy& /*policy*/) { return job.hosts; }

double largest_first(const OrderedJob& job, const QueuePolicy& /*policy*/) { return -job.hosts; }

constexpr auto orders = std::to_array<QueueOrder>({
    {"fifo", "First come, first served.", by_submission},
    {"priority", "Highest priority first, grown by waiting (`aging`).", by_priority},
    {"fair-share",
     "Jobs of the team with the least decayed usage over its share first (Slurm's Fair Tree of one "
     "level), in a team by priority.",
     by_priority, true},
    {"shortest", "Shortest time limit first.", by_limit},
    {"smallest", "Fewest hosts first.", smallest_first},
    {"largest", "Most hosts first.", largest_first},
});

constexpr auto kinds_of_backfill = std::to_array<Backfill>({
    {"none", "Nothing behind the first job that must wait starts.", 0},
    {"easy",
     "Jobs behind the first that must wait start where they do not delay it (Lifka, JSSPP 1995).",
     1},
    {"conservative",
     "Jobs start where they delay none before them (Mu'alem and Feitelson, IEEE TPDS 12(6), 2001).",
     std::numeric_limits<int>::max()},
});

int all_free(const MoldingState& state) { return state.free; }

int even_share(const MoldingState& state) { return state.free / state.waiting_jobs; }

int no_more(const MoldingState& /*state*/) { return 0; }

constexpr auto kinds_of_molding = std::to_array<MoldingRule>({
    {"widest", "The most hosts that are free.", all_free},
    {"share",
     "The free hosts shared evenly among the jobs that wait (equal partitions: Rosti et al., "
     "Performance Evaluation 19, 1994).",
     even_share},
    {"narrowest", "Always the fewest.", no_more},
});

constexpr double relaxation_times = 4.0;
/// The lead-in is no longer than so many horizons.
constexpr double most_horizons = 8.0;

/// Mean duration of a class's jobs; of listed ones those that are listed.
Seconds mean_duration(const QueueClass& jobs) {
  Seconds sum;
  int count = 0;
  for (const ListedJob& job : jobs.arrivals.listed)
    if (job.duration) {
      sum += *job.duration;
      ++count;
    }
  return count > 0 ? sum / count : jobs.duration.mean();
}

/// Host-seconds that a class asks for per second.
double hosts_wanted(const QueueModel& model, const QueueClass& jobs) {
  const ArrivalLaw& arrivals = jobs.arrivals;
  double listed = 0.0;
  for (const ListedJob& job : arrivals.listed)
    if (job.submit < model.horizon)
      listed += job.duration.value_or(jobs.duration.mean()).value() *
                job.hosts.value_or(static_cast<int>(std::lround(jobs.mean_hosts())));
  if (!arrivals.listed.empty()) return listed / model.horizon.value();
  double hosts = jobs.mean_hosts();
  for (std::size_t i = 0; i < jobs.moldable.size(); ++i) {
    const double work = jobs.moldable[i].hosts / jobs.moldable[i].speed;
    hosts = i == 0 ? work : std::min(hosts, work);
  }
  return arrivals.mean_rate(model.horizon) * mean_duration(jobs) * hosts;
}

}  // namespace

std::span<const QueueOrder> queue_orders() { return orders; }
std::span<const Backfill> backfills() { return kinds_of_backfill; }
std::span<const MoldingRule> molding_rules() { return kinds_of_molding; }

const QueueOrder* find_order(std::string_view name) {
  for (const QueueOrder& order : orders)
    if (order.name == name) return &order;
  return nullptr;
}

const MoldingRule* find_molding(std::string_view name) {
  for (const MoldingRule& rule : kinds_of_molding)
    if (rule.name == name) return &rule;
  return nullptr;
}

const Backfill* find_backfill(std::string_view name) {
  for (const Backfill& backfill : kinds_of_backfill)
    if (backfill.name == name) return &backfill;
  return nullptr;
}

double QueueClass::mean_hosts() const {
  double sum = 0.0;
  double weights = 0.0;
  for (const JobSize& size : sizes) {
    sum += size.hosts * size.weight;
    weights += size.weight;
  }
  return sum / weights;
}

int QueueClass::most_hosts() const {
  int most = 0;
  for (const JobSize& size : sizes) most = std::max(most, size.hosts);
  for (const ListedJob& job : arrivals.listed) most = std::max(most, job.hosts.value_or(0));
  return most;
}

bool has_moldable(const QueueModel& model) {
  return std::ranges::any_of(model.classes,
                             [](const QueueClass& jobs) { return !jobs.moldable.empty(); });
}

double offered_load(const QueueModel& model) {
  double wanted = 0.0;
  for (const QueueClass& jobs : model.classes) wanted += hosts_wanted(model, jobs);
  return wanted / model.hosts;
}

bool has_steady_state(const QueueModel& model) {
  const bool all_burst =
      model.burst_after.has_value() &&
      std::ranges::all_of(model.classes, [](const QueueClass& jobs) { return jobs.bursts; });
  return all_burst || offered_load(model) < 1.0;
}

Seconds lead_in(const QueueModel& model) {
  const double load = offered_load(model);
  if (!model.loaded || !has_steady_state(model)) return {};
  // Means over jobs that arrive at a rate, weighted by the time that they take hosts.
  double weight = 0.0;
  double size = 0.0;
  double stretch = 0.0;
  for (const QueueClass& jobs : model.classes) {
    if (!jobs.arrivals.listed.empty()) continue;
    const double wanted = hosts_wanted(model, jobs);
    weight += wanted;
    size += wanted * jobs.mean_hosts();
    stretch +=
        wanted * jobs.duration.mean().value() * (1.0 + jobs.duration.squared_variation()) / 2.0;
  }
  if (!(weight > 0.0)) return {};
  const double servers = std::max(1.0, model.hosts * weight / size);
  const double gap = 1.0 - std::sqrt(std::min(1.0, load));
  double relaxation = stretch / weight * (1.0 + 1.0 / (servers * gap * gap));
  if (model.burst_after)
    relaxation = std::min(relaxation, stretch / weight + model.burst_after->value());
  return min(Seconds{relaxation_times * relaxation}, most_horizons * model.horizon);
}

bool is_deterministic(const QueueModel& model) {
  if (model.failures.every > Seconds{}) return false;
  return std::ranges::all_of(model.classes, [](const QueueClass& jobs) {
    const auto& listed = jobs.arrivals.listed;
    const bool known = !listed.empty() && std::ranges::all_of(listed, [](const ListedJob& job) {
      return job.duration && job.hosts;
    });
    return known || (!jobs.arrivals.is_poisson() && jobs.sizes.size() == 1 &&
                     jobs.duration.kind == DurationKind::fixed);
  });
}

double expected_jobs(const QueueModel& model) {
  double jobs = 0.0;
  const Seconds lead = lead_in(model);
  for (const QueueClass& each : model.classes) {
    const ArrivalLaw& arrivals = each.arrivals;
    if (!arrivals.listed.empty())
      jobs += static_cast<double>(arrivals.listed.size());
    else
      jobs += arrivals.mean_rate(model.horizon) * (model.horizon + lead);
  }
  return jobs;
}

}  // namespace foretrain
