// SPDX-License-Identifier: Apache-2.0
// libFuzzer target for logs of jobs. The first byte says which format is read; whatever follows
// becomes jobs that can be played, or diagnostics.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "planner/cluster/internal/trace_reading.hpp"
#include "tests/fuzz/promises.hpp"

using foretrain::fuzz::require;

namespace {

foretrain::LoggedJobs read(char format, std::string_view text,
                           const foretrain::internal::TraceReader& trace) {
  if (format == 's') return foretrain::internal::read_swf(text, trace, 8);
  if (format == 'a') return foretrain::internal::read_sacct(text, trace);
  if (format == 'c') return foretrain::internal::read_calendar_csv(text, trace);
  return foretrain::internal::read_csv(text, trace);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  foretrain::Diagnostics diagnostics;
  const foretrain::internal::TraceReader trace(diagnostics, "fuzz.log");
  const auto log = read(text.front(), text.substr(1), trace);
  for (const foretrain::Diagnostic& diagnostic : diagnostics.items())
    foretrain::fuzz::check_printable(diagnostic.text());
  require(log.left_out >= 0, "what is left out is counted");
  require(log.waits.empty() || log.waits.size() == log.jobs.size(), "waits are those of jobs");
  for (const foretrain::LoggedNames* names : {&log.teams, &log.queues}) {
    require(!names->told() || names->of_jobs.size() == log.jobs.size(), "names are those of jobs");
    for (const std::uint32_t name : names->of_jobs)
      require(name < names->names.size(), "a job's name is known");
  }
  for (const foretrain::ListedJob& job : log.jobs) {
    require(job.hosts && *job.hosts >= 1 && *job.hosts <= 1'000'000, "a job has hosts");
    require(std::isfinite(job.submit.value()) && job.submit.value() >= 0.0, "a job is submitted");
    require(job.duration && std::isfinite(job.duration->value()), "a job runs");
    require(*job.duration >= foretrain::Seconds{}, "a job runs forward");
  }
  return 0;
}
