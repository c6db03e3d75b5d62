// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/yaml/diagnostics.hpp"
#include "sim/queue/arrival_law.hpp"

namespace foretrain {

/// Names that jobs of a log have, each once.
struct LoggedNames {
  std::vector<std::string> names;
  std::map<std::string, std::uint32_t, std::less<>> place;
  std::vector<std::uint32_t> of_jobs;  ///< index of `names`, by job; empty: the log has none

  [[nodiscard]] bool told() const { return !of_jobs.empty(); }
};

/// What a log says, in its order.
struct LoggedJobs {
  std::vector<ListedJob> jobs;  ///< with duration and hosts
  std::vector<float> waits;     ///< seconds, by job; below 0: not known. Empty: the log has none
  LoggedNames teams;
  LoggedNames queues;
  int left_out = 0;         ///< jobs that never ran, or on no GPUs
  int on_parts = 0;         ///< jobs with fewer GPUs of their hosts than others have
  bool from_monday = true;  ///< times count from a Monday, 0:00; false: from the log's own start
  std::string sha256;       ///< of the file
};

/// What LoggedJobs::on_parts means, in a sentence.
[[nodiscard]] std::string parts_note(const LoggedJobs& log);

/// Reads a log of jobs, whose format is told by its content and its name: what sacct prints, CSV in
/// seconds or with times of a calendar, or Standard Workload Format (.swf). Errors are reported
/// with their lines.
/// @param name what messages call it
/// @param per_host processors that count as one host; needed for .swf files alone
[[nodiscard]] LoggedJobs read_job_log(const std::filesystem::path& file, const std::string& name,
                                      std::optional<int> per_host, Diagnostics& diagnostics);

}  // namespace foretrain
