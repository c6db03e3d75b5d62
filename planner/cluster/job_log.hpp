// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/yaml/diagnostics.hpp"
#include "sim/queue/job_laws.hpp"

namespace foretrain {

/// Names that jobs of a log have, each once.
struct LoggedNames {
  std::vector<std::string> names;
  std::map<std::string, std::uint32_t, std::less<>> place;
  std::vector<std::uint32_t> of_jobs;  ///< index of `names`, by job; empty: the log has none

  [[nodiscard]] bool told() const { return !of_jobs.empty(); }
};

/// Jobs that had fewer GPUs than their hosts have.
struct PartialJobs {
  std::int64_t jobs = 0;
  double own_hours = 0.0;   ///< GPU-hours that they had
  double host_hours = 0.0;  ///< GPU-hours of their whole hosts, which they count as
};

/// What a log says, in its order.
struct LoggedJobs {
  /// With duration and hosts, and the places of those that they follow; submitted when they can
  /// start, as far as the log tells.
  std::vector<ListedJob> jobs;
  std::vector<float> waits;  ///< seconds, by job; below 0: not known. Empty: the log has none
  std::vector<float> gpus;   ///< by job; empty: the log does not tell
  LoggedNames teams;
  LoggedNames queues;
  int left_out = 0;  ///< jobs that never ran, or on no GPUs
  int running = 0;   ///< jobs that had not ended; see OpenJobs
  int held = 0;      ///< jobs that could start only some time after they were submitted
  PartialJobs partial;
  std::string unit = "GPU";           ///< what `gpus` counts
  std::vector<std::string> not_told;  ///< behind the log's name: columns that it lacks
  bool from_monday = true;  ///< times count from a Monday, 0:00; false: from the log's own start
  std::string sha256;       ///< of the file
};

/// What is made of jobs that run on when the log ends: they count with their time until then, or
/// not at all (where durations are fitted, which theirs would shorten).
enum class OpenJobs { until_now, left_out };

/// What people should know of a log: sentences.
[[nodiscard]] std::vector<std::string> log_notes(const std::string& name, const LoggedJobs& log,
                                                 OpenJobs open);

/// Reads a log of jobs, whose format is told by its content and its name: what sacct prints, CSV in
/// seconds or with times of a calendar, or Standard Workload Format (.swf). Errors are reported
/// with their lines.
/// @param name what messages call it
/// @param per_host processors that count as one host; needed for .swf files alone
[[nodiscard]] LoggedJobs read_job_log(const std::filesystem::path& file, const std::string& name,
                                      std::optional<int> per_host, Diagnostics& diagnostics);

}  // namespace foretrain
