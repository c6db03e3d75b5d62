// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/cluster/job_log.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain::internal {

/// One log: where errors about it go.
class TraceReader {
 public:
  TraceReader(Diagnostics& diagnostics, const std::string& name);

  void report(int line, std::string message) const;
  /// A number that is not below `least`; nothing after reporting.
  [[nodiscard]] std::optional<double> number(std::string_view cell, int line, const char* column,
                                             double least) const;
  /// A number of hosts, 1 to 1,000,000; nothing after reporting.
  [[nodiscard]] std::optional<int> hosts(double value, int line, const char* column) const;
  /// The index of a team's or queue's name, a new one where it was not met yet; reports what is no
  /// name. Empty cells have the empty name.
  [[nodiscard]] std::uint32_t name(LoggedNames& names, std::string_view cell, int line,
                                   const char* column) const;

 private:
  Diagnostics& diagnostics_;
  std::shared_ptr<const std::string> name_;
};

/// Without blanks and line ends around it.
[[nodiscard]] std::string_view trimmed_cell(std::string_view text);
/// Cells between separators, trimmed.
[[nodiscard]] std::vector<std::string_view> cells_of(std::string_view line, char separator);

/// Calls `each` with every line and its number from 1.
template <class Each>
void for_lines(std::string_view text, const Each& each) {
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    each(trimmed_cell(text.substr(0, end)), line);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

/// "2026-01-05T09:30:00", or with a blank, in seconds since 1970; nothing for "Unknown", "None" and
/// other texts.
[[nodiscard]] std::optional<double> instant_of(std::string_view text);
/// Lets submissions in seconds since 1970 count from Monday, 0:00, of the first week.
void count_from_monday(LoggedJobs& log);

/// Books of one reading: jobs by the names that others follow them by, and the log's last instant.
class LogBook {
 public:
  void saw(double instant) { last_ = std::max(last_, instant); }
  /// The job that was added last is called so, and follows another one, which must have been named
  /// before. @return whether it was
  bool name(LoggedJobs& log, std::string_view job) {
    return places_.emplace(job, log.jobs.size() - 1).second;
  }
  bool follow(LoggedJobs& log, std::string_view other, Seconds think) const {
    const auto found = places_.find(other);
    if (found == places_.end()) return false;
    log.jobs.back().after = found->second;
    log.jobs.back().think = think;
    return true;
  }
  /// The job that was added last had not ended.
  void open(const LoggedJobs& log) { open_.push_back(log.jobs.size() - 1); }
  /// Gives open jobs what they are to count with. Submissions are still those of the log.
  void close(LoggedJobs& log, OpenJobs how) const;

 private:
  std::map<std::string, std::size_t, std::less<>> places_;
  std::vector<std::size_t> open_;
  double last_ = 0.0;
};

/// Counts jobs with fewer GPUs than their hosts have: `per_host`, else as many as any job had.
void count_partial(LoggedJobs& log, std::optional<int> per_host);
/// By submission; places of jobs that others follow are those after sorting.
[[nodiscard]] std::vector<ListedJob> by_submission(const std::vector<ListedJob>& jobs);

/// CSV with a header: columns submit_s, duration_s, hosts and, where they are known, limit_s,
/// wait_s, team, queue, gpus, eligible_s, and job and after: names of a job and of the one above it
/// that it follows.
[[nodiscard]] LoggedJobs read_csv(std::string_view text, const TraceReader& trace);

/// Standard Workload Format 2.2 (Feitelson, Parallel Workloads Archive): 18 numbers a line, -1 for
/// what is unknown. Groups are teams; a job is submitted when the one that it names has ended, and
/// its user has thought. @pre per_host > 0, the processors that count as one host
[[nodiscard]] LoggedJobs read_swf(std::string_view text, const TraceReader& trace, int per_host);

/// What `sacct -X -P -o submit,eligible,start,end,nnodes,timelimit,alloctres` prints: columns by
/// their header, in any order, those of Account (team) and Partition (queue), others ignored; times
/// in one time zone. Names may hold the bar that parts columns.
/// Times count from Monday, 0:00, of the first week.
[[nodiscard]] LoggedJobs read_sacct(std::string_view text, const TraceReader& trace, OpenJobs open);

/// CSV with times of a calendar, as the traces of Helios (Hu et al., SC 2021) and Acme (Hu et al.,
/// NSDI 2024) have: columns submit_time, start_time, end_time and node_num by their header, and,
/// where they are there, gpu_num, vc (team) and type (queue); others are ignored. Jobs without GPUs
/// are left out. All times have the same offset from UTC, which is not looked at: days are those of
/// the clock there.
[[nodiscard]] LoggedJobs read_calendar_csv(std::string_view text, const TraceReader& trace,
                                           OpenJobs open);
/// Whether read_calendar_csv() is meant.
[[nodiscard]] bool has_calendar_header(std::string_view text);

}  // namespace foretrain::internal
