// SPDX-License-Identifier: Apache-2.0
// What is made of the lines of a job log, of whatever format.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "planner/cluster/internal/trace_reading.hpp"
#include "planner/text/format.hpp"

namespace foretrain::internal {

void LogBook::close(LoggedJobs& log, OpenJobs how) const {
  log.running = static_cast<int>(open_.size());
  if (how == OpenJobs::until_now) {
    for (const std::size_t job : open_) {
      const double start = log.jobs[job].submit.value() + double{log.waits[job]};
      log.jobs[job].duration = Seconds{std::max(1.0, last_ - start)};
      if (auto& limit = log.jobs[job].limit) limit = max(*limit, *log.jobs[job].duration);
    }
    return;
  }
  const auto without = [&](auto& values) {
    for (auto job = open_.rbegin(); job != open_.rend() && !values.empty(); ++job)
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(*job));
  };
  without(log.jobs);
  without(log.waits);
  without(log.gpus);
  without(log.teams.of_jobs);
  without(log.queues.of_jobs);
}

void count_partial(LoggedJobs& log, std::optional<int> per_host) {
  if (log.gpus.empty()) return;
  double whole = per_host.value_or(0);
  for (std::size_t i = 0; i < log.jobs.size() && !per_host; ++i)
    whole = std::max(whole, double{log.gpus[i]} / *log.jobs[i].hosts);
  for (std::size_t i = 0; i < log.jobs.size(); ++i) {
    const double hours = log.jobs[i].duration->value() / 3600.0;
    const double all = whole * *log.jobs[i].hosts;
    if (!(double{log.gpus[i]} < all)) continue;
    ++log.partial.jobs;
    log.partial.own_hours += log.gpus[i] * hours;
    log.partial.host_hours += all * hours;
  }
}

std::vector<ListedJob> by_submission(const std::vector<ListedJob>& jobs) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return jobs[a].submit < jobs[b].submit; });
  std::vector<std::size_t> place(jobs.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<ListedJob> sorted;
  for (const std::size_t i : order) {
    sorted.push_back(jobs[i]);
    if (sorted.back().after) sorted.back().after = place[*sorted.back().after];
  }
  return sorted;
}

}  // namespace foretrain::internal

namespace foretrain {

std::vector<std::string> log_notes(const std::string& name, const LoggedJobs& log, OpenJobs open) {
  std::vector<std::string> notes;
  const std::string file = in_quotes(name);
  const auto jobs = [](std::int64_t count) {
    return with_thousands(count) + (count == 1 ? " job" : " jobs");
  };
  if (log.left_out > 0)
    notes.push_back(fmt::format("{} of {} never ran, or had no GPUs, and {} left out.",
                                jobs(log.left_out), file, log.left_out == 1 ? "is" : "are"));
  const auto by_number = [](std::int64_t count, const char* one, const char* many) {
    return count == 1 ? one : many;
  };
  if (log.running > 0)
    notes.push_back(
        fmt::format("{} of {} had not ended when the log was written; {}.", jobs(log.running), file,
                    open == OpenJobs::until_now
                        ? by_number(log.running, "it counts with its time until then",
                                    "they count with their time until then")
                        : by_number(log.running, "it is left out", "they are left out")));
  if (log.held > 0)
    notes.push_back(fmt::format(
        "{} of {} could start only after another job or a date: {} wait counts from then on.",
        jobs(log.held), file, by_number(log.held, "its", "their")));
  if (log.partial.jobs > 0)
    notes.push_back(fmt::format(
        "{} of {} had fewer {}s than {} hosts have: {} {}-hours, which count as {} of whole "
        "hosts. Several jobs on a host are not modelled, so waits come out too long.",
        jobs(log.partial.jobs), file, log.unit, by_number(log.partial.jobs, "its", "their"),
        count_text(log.partial.own_hours), log.unit, count_text(log.partial.host_hours)));
  for (const std::string& sentence : log.not_told) notes.push_back(file + " " + sentence);
  return notes;
}

}  // namespace foretrain
