// SPDX-License-Identifier: Apache-2.0

#include "planner/cluster/internal/workload_groups.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "models/base/ranges.hpp"
#include "planner/cluster/workload_fit.hpp"
#include "planner/text/format.hpp"
#include "planner/text/quoting.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain::internal {
namespace {

constexpr const char* rest_name = "others";

/// A team's or queue's name, and whether it tells jobs apart.
struct Owner {
  std::string team;
  std::string queue;

  [[nodiscard]] bool operator<(const Owner& other) const {
    return std::tie(team, queue) < std::tie(other.team, other.queue);
  }
};

/// Jobs of one owner of fewest to most hosts.
struct SizedJobs {
  Owner owner;
  int fewest = 0;
  int most = 0;
  double host_s = 0.0;
  std::vector<std::size_t> jobs;
};

std::size_t distinct(const LoggedNames& names, const std::vector<std::size_t>& ran) {
  if (!names.told()) return 0;
  std::set<std::uint32_t> found;
  for (const std::size_t index : ran) found.insert(names.of_jobs[index]);
  return found.size();
}

std::vector<ClassBy> told_by(const LoggedJobs& log, const std::vector<std::size_t>& ran,
                             const WorkloadFitRequest& request) {
  if (!request.by) {
    const auto few = [&](const LoggedNames& names) {
      const std::size_t count = distinct(names, ran);
      return count > 1 && 2 * count <= static_cast<std::size_t>(request.most_classes);
    };
    if (few(log.teams)) return {ClassBy::team, ClassBy::size};
    if (few(log.queues)) return {ClassBy::queue, ClassBy::size};
    return {ClassBy::size};
  }
  if (contains(*request.by, ClassBy::team) && !log.teams.told())
    throw UsageError("--by team: the log has none (sacct: Account; CSV: team; SWF: the group)");
  if (contains(*request.by, ClassBy::queue) && !log.queues.told())
    throw UsageError("--by queue: the log has none (sacct: Partition; CSV and SWF: queue)");
  return *request.by;
}

const std::string& name_in(const LoggedNames& names, std::size_t job) {
  return names.names[names.of_jobs[job]];
}

bool is_small(const SizedJobs& group) {
  return static_cast<std::int64_t>(group.jobs.size()) < fewest_class_jobs;
}

bool same_owner(const SizedJobs& a, const SizedJobs& b) {
  return !(a.owner < b.owner) && !(b.owner < a.owner);
}

void join(SizedJobs& into, SizedJobs& group) {
  into.most = group.most;
  into.host_s += group.host_s;
  into.jobs.insert(into.jobs.end(), group.jobs.begin(), group.jobs.end());
}

/// Groups with few jobs become one with their owner's next sizes, the last with those before.
void join_small(std::vector<SizedJobs>& groups) {
  std::vector<SizedJobs> joined;
  const auto close = [&joined] {
    const std::size_t count = joined.size();
    if (count < 2 || !is_small(joined[count - 1]) ||
        !same_owner(joined[count - 2], joined[count - 1]))
      return;
    join(joined[count - 2], joined[count - 1]);
    joined.pop_back();
  };
  for (SizedJobs& group : groups) {
    const bool same = !joined.empty() && same_owner(joined.back(), group);
    if (same && is_small(joined.back())) {
      join(joined.back(), group);
      continue;
    }
    if (!same) close();
    joined.push_back(std::move(group));
  }
  close();
  groups = std::move(joined);
}

/// All but those with the most host time become one; in the order that they had.
std::optional<SizedJobs> take_rest(std::vector<SizedJobs>& groups, int most_classes) {
  const auto most = static_cast<std::size_t>(most_classes);
  if (groups.size() <= most) return std::nullopt;
  std::vector<double> times;
  for (const SizedJobs& group : groups) times.push_back(group.host_s);
  std::sort(times.rbegin(), times.rend());
  const double least = times[most - 1];
  SizedJobs rest;
  std::vector<SizedJobs> kept;
  for (SizedJobs& group : groups) {
    if (group.host_s > least && kept.size() + 1 < most)
      kept.push_back(std::move(group));
    else
      rest.jobs.insert(rest.jobs.end(), group.jobs.begin(), group.jobs.end());
  }
  groups = std::move(kept);
  return rest;
}

std::string size_words(const SizedJobs& group) {
  if (group.fewest == group.most)
    return fmt::format("{} host{}", group.most, group.most > 1 ? "s" : "");
  return fmt::format("{}-{} hosts", group.fewest, group.most);
}

std::string name_of_group(const SizedJobs& group, const std::vector<ClassBy>& by) {
  std::string name;
  const auto add = [&name](const std::string& word) { name += (name.empty() ? "" : " ") + word; };
  if (contains(by, ClassBy::team)) add(group.owner.team.empty() ? "no-team" : group.owner.team);
  if (contains(by, ClassBy::queue)) add(group.owner.queue.empty() ? "no-queue" : group.owner.queue);
  if (contains(by, ClassBy::size)) add(size_words(group));
  return name.empty() ? "all" : name;
}

/// By owner, then by size upwards.
std::vector<SizedJobs> by_owner_and_size(const LoggedJobs& log, const std::vector<std::size_t>& ran,
                                         const std::vector<ClassBy>& by) {
  std::map<std::pair<Owner, int>, SizedJobs> found;
  for (const std::size_t index : ran) {
    const ListedJob& job = log.jobs[index];
    Owner owner;
    if (contains(by, ClassBy::team)) owner.team = name_in(log.teams, index);
    if (contains(by, ClassBy::queue)) owner.queue = name_in(log.queues, index);
    int least = 1;
    while (contains(by, ClassBy::size) && 2 * least <= *job.hosts) least *= 2;
    SizedJobs& group = found[{owner, least}];
    group.fewest = group.jobs.empty() ? *job.hosts : std::min(group.fewest, *job.hosts);
    group.most = std::max(group.most, *job.hosts);
    group.host_s += *job.hosts * job.duration->value();
    group.owner = std::move(owner);
    group.jobs.push_back(index);
  }
  std::vector<SizedJobs> groups;
  for (auto& [key, group] : found) groups.push_back(std::move(group));
  return groups;
}

}  // namespace

std::vector<JobGroup> job_groups(const LoggedJobs& log, const std::vector<std::size_t>& ran,
                                 const WorkloadFitRequest& request) {
  const std::vector<ClassBy> by = told_by(log, ran, request);
  std::vector<SizedJobs> groups = by_owner_and_size(log, ran, by);
  join_small(groups);
  auto rest = take_rest(groups, request.most_classes);
  const bool teams = contains(by, ClassBy::team);
  std::vector<JobGroup> named;
  std::set<std::string> taken;
  const auto add = [&](std::string name, std::string team, SizedJobs& group) {
    // Names of teams and queues may run into each other.
    const std::string first = name;
    for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{} ({})", first, i);
    named.push_back({std::move(name), std::move(team), std::move(group.jobs)});
  };
  for (SizedJobs& group : groups)
    add(name_of_group(group, by), teams && group.owner.team.empty() ? "no-team" : group.owner.team,
        group);
  if (rest) add(rest_name, teams ? rest_name : "", *rest);
  return named;
}

}  // namespace foretrain::internal

namespace foretrain {
namespace {

/// Four digits in a unit that people use: "9.874 h".
std::string time_value(Seconds time) {
  if (time < 2.0 * minutes) return fmt::format("{:.4g} s", time.value());
  if (time < 2.0 * hours) return fmt::format("{:.4g} min", time / minutes);
  if (time < 4.0 * days) return fmt::format("{:.4g} h", time / hours);
  return fmt::format("{:.5g} days", time / days);
}

std::string shape_value(const char* name, const std::vector<double>& rates) {
  if (rates.empty()) return "";
  std::string text;
  for (const double rate : rates) text += fmt::format("{}{:.0f}", text.empty() ? "" : ", ", rate);
  return fmt::format(", {}: [{}]", name, text);
}

std::string arrivals_value(const ArrivalLaw& law) {
  return fmt::format("{{poisson: {:.5g} per day{}{}}}", law.rate * days,
                     shape_value("day", law.day), shape_value("week", law.week));
}

std::string duration_value(const DurationLaw& law) {
  switch (law.kind) {
    case DurationKind::fixed:
      return time_value(law.typical);
    case DurationKind::exponential:
      return fmt::format("{{exponential: {}}}", time_value(law.typical));
    case DurationKind::uniform:
      return fmt::format("{{uniform: {{from: {}, to: {}}}}}", time_value(law.least),
                         time_value(law.most));
    case DurationKind::lognormal:
    case DurationKind::gamma:
      return fmt::format("{{{}: {{mean: {}, cv: {:.4g}}}}}", name_of(law.kind),
                         time_value(law.typical), law.variation);
    case DurationKind::empirical:
      break;
  }
  std::string values;
  std::size_t column = 0;
  constexpr std::size_t line = 100;
  for (const Seconds value : law.values) {
    std::string text = (values.empty() ? "" : ",") + std::string(values.empty() ? "" : " ");
    if (column > line) {
      text = ",\n          ";
      column = 0;
    }
    text += time_value(value);
    column += text.size();
    values += text;
  }
  return fmt::format("\n        empirical: [{}]", values);
}

std::string sizes_lines(const std::vector<JobSize>& sizes) {
  if (sizes.size() == 1) return fmt::format("      hosts: {}\n", sizes.front().hosts);
  std::string text = "      sizes:\n";
  for (const JobSize& size : sizes)
    text += fmt::format("        - {{hosts: {}, weight: {:.0f}}}\n", size.hosts, size.weight);
  return text;
}

std::string class_lines(const FittedClass& fitted) {
  std::string text = fmt::format("    - name: {}\n", YamlText::quoted(fitted.name));
  if (!fitted.team.empty()) text += fmt::format("      team: {}\n", YamlText::quoted(fitted.team));
  text += fmt::format("      arrivals: {}\n", arrivals_value(fitted.arrivals.law));
  text += sizes_lines(fitted.sizes);
  const std::string duration = duration_value(fitted.duration);
  text += fmt::format("      duration:{}{}\n", duration.starts_with('\n') ? "" : " ", duration);
  if (fitted.limit.time) text += fmt::format("      limit: {}\n", time_value(*fitted.limit.time));
  if (fitted.limit.factor)
    text += fmt::format("      limit: {{factor: {:.4g}}}\n", *fitted.limit.factor);
  return text;
}

}  // namespace

std::string workload_yaml(const WorkloadFit& fit) {
  std::string text = fmt::format(
      "# Fitted by foretrain {} to {}: {} jobs over {} days.\n"
      "# The log does not show the policy, nor what the cluster is made of: write yours.\n"
      "schema: 1\nname: {}\ncluster: {{host: {}, hosts: {}}}\nworkload:\n  horizon: {} days\n"
      "  classes:\n",
      version, in_quotes(fit.request.source), with_thousands(fit.jobs),
      with_thousands(fit.horizon_days()), YamlText::quoted(fit.request.name),
      YamlText::quoted(fit.request.host), fit.hosts, fit.horizon_days());
  for (const FittedClass& fitted : fit.classes) text += class_lines(fitted);
  return text + "policy: {order: fifo, backfill: easy}\n";
}

}  // namespace foretrain
