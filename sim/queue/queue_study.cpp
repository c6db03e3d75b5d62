// SPDX-License-Identifier: Apache-2.0
#include "sim/queue/queue_study.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>

#include "models/base/parallel.hpp"
#include "models/base/too_large.hpp"
#include "sim/queue/internal/replications.hpp"

namespace foretrain {
namespace {

constexpr int round_size = 16;
/// Where their number is not given; an interval takes two.
constexpr int fewest_replications = 2;
constexpr int most_replications = 4096;

bool must_stop(const QueueStudyOptions& options) {
  return options.stop != nullptr && options.stop->load();
}

/// Replications `from` to `to`, in order; those that were stopped are incomplete.
std::vector<QueueSample> simulate_round(const QueueModel& model, const QueueStudyOptions& options,
                                        int from, int to) {
  std::vector<QueueSample> samples(static_cast<std::size_t>(to - from));
  parallel_for(samples.size(), options.threads, [&](std::size_t i) {
    if (!must_stop(options))
      samples[i] =
          simulate_queue(model, {from + static_cast<int>(i), options.bins, false, options.stop});
  });
  return samples;
}

/// As many as sixteen, fewer where each is long.
int first_round(const QueueModel& model, const QueueStudyOptions& options) {
  constexpr double effort_of_job = 20.0;  // at least: two events and a look
  const double each = effort_of_job * std::max(1.0, expected_jobs(model));
  const double possible = static_cast<double>(options.most_effort) / each;
  return std::clamp(static_cast<int>(std::min(possible, 1e6)), fewest_replications, round_size);
}

/// Replications after `done` of them.
int next_round(const QueueModel& model, const QueueStudyOptions& options,
               const internal::SamplesGathered& gathered) {
  const int done = gathered.count();
  if (options.replications > 0) return std::min(options.replications, done + round_size) - done;
  if (is_deterministic(model)) return done == 0 ? 1 : 0;
  if (done == 0) return first_round(model, options);
  if (gathered.precision() <= options.precision) return 0;
  const double each = static_cast<double>(gathered.effort()) / done;
  const double room =
      (static_cast<double>(options.most_effort) - static_cast<double>(gathered.effort())) /
      std::max(1.0, each);
  // As many as the precision so far suggests, but no more than double.
  const double ratio = gathered.precision() / options.precision;
  const double wanted = std::min(ratio * ratio * done * 1.1 - done, static_cast<double>(done));
  const double kept = expected_jobs(model) * done;
  const double fits = (static_cast<double>(most_counted_jobs) - kept) * done / std::max(1.0, kept);
  const double possible = std::min({room, fits, static_cast<double>(most_replications - done)});
  return std::max(0, static_cast<int>(std::min(std::max(1.0, wanted), possible)));
}

void check_counted(const QueueModel& model, const QueueStudyOptions& options) {
  const int fewest = is_deterministic(model) ? 1 : fewest_replications;
  const double jobs =
      expected_jobs(model) * (options.replications > 0 ? options.replications : fewest);
  if (jobs <= static_cast<double>(most_counted_jobs)) return;
  throw TooLarge("about " + std::to_string(static_cast<std::int64_t>(std::min(jobs, 9e18))) +
                 " jobs of all replications are more than the " +
                 std::to_string(most_counted_jobs) +
                 " that are kept; ask for fewer replications, or a shorter horizon");
}

}  // namespace

std::optional<QueueSummary> study_queue(const QueueModel& model, const QueueStudyOptions& options) {
  check_counted(model, options);
  internal::SamplesGathered gathered(model);
  bool stopped = false;
  while (!stopped) {
    const int more = next_round(model, options, gathered);
    if (more == 0) break;
    const int done = gathered.count();
    for (QueueSample& sample : simulate_round(model, options, done, done + more)) {
      stopped = stopped || !sample.complete;
      if (sample.complete) gathered.add(std::move(sample));
    }
  }
  if (gathered.count() == 0) return std::nullopt;
  QueueSummary summary = gathered.finish();
  summary.stopped = stopped;
  summary.precise =
      options.replications > 0 || is_deterministic(model) || summary.precision <= options.precision;
  return summary;
}

}  // namespace foretrain
