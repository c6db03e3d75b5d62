// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "planner/answer/answer.hpp"
#include "planner/answer/value_rows.hpp"
#include "planner/cluster/job_law_fit.hpp"
#include "planner/cluster/job_log.hpp"
#include "sim/queue/queue_model.hpp"

namespace foretrain {

/// What tells classes of jobs apart.
enum class ClassBy { team, queue, size };
FORETRAIN_ENUM_NAMES(ClassBy, {ClassBy::team, "team"}, {ClassBy::queue, "queue"},
                     {ClassBy::size, "size"});

struct WorkloadFitRequest {
  std::string name;          ///< of the model
  std::string source;        ///< the log, as people call it
  std::string host;          ///< of the catalog
  std::optional<int> hosts;  ///< absent: the most that the log has in use at a time
  /// Absent: size, and team, else queue, where the log has several, at most half of most_classes.
  std::optional<std::vector<ClassBy>> by;
  int most_classes = 24;  ///< those with the most host time stay, the others become one
};

/// Classes of fewer jobs are joined with the next sizes of the same team and queue.
inline constexpr std::int64_t fewest_class_jobs = 30;
/// Measured durations of a class that no law describes.
inline constexpr std::size_t most_measured = 200;
/// Sizes of a class that stay apart.
inline constexpr std::size_t most_sizes = 64;

/// Time limits that jobs were submitted with.
struct LimitFit {
  std::int64_t told = 0;           ///< jobs that have one
  std::int64_t reached = 0;        ///< jobs that ran to it
  std::optional<Seconds> time{};   ///< the same for all: the median
  std::optional<double> factor{};  ///< over the duration: the median. At most one of both
};

struct FittedClass {
  std::string name;
  std::string team;  ///< empty: none
  std::int64_t jobs = 0;
  std::vector<JobSize> sizes;  ///< by hosts
  ArrivalFit arrivals;
  DurationLaw duration;           ///< what the model has
  double distance = 0.0;          ///< of it, as DurationFit::distance
  std::vector<DurationFit> laws;  ///< all that were tried, best first
  Seconds log_mean{};             ///< duration in the log
  LimitFit limit;
  double log_hosts = 0.0;    ///< mean hosts that the log's jobs of the class have in use
  double model_hosts = 0.0;  ///< the same of the model

  [[nodiscard]] bool is_measured() const { return duration.kind == DurationKind::empirical; }
};

/// A workload model that was fitted to a log.
struct WorkloadFit {
  WorkloadFitRequest request;
  LogWindow window;
  std::int64_t jobs = 0;
  std::int64_t left_out = 0;       ///< jobs that never ran
  std::optional<int> most_in_use;  ///< hosts; absent: starts are not known
  int hosts = 0;                   ///< of the model's cluster
  std::vector<FittedClass> classes;
  std::vector<std::string> notes;  ///< what the reader should know

  /// Whole days, at least one: the model's horizon.
  [[nodiscard]] int horizon_days() const;
};

/// Fits arrivals, sizes, durations and limits class by class.
/// @throws UsageError where the log has no such column to tell classes apart by, where the number
///   of hosts is neither given nor known, for less than two jobs that ran, jobs at one instant
///   alone, and logs of more than a hundred years
[[nodiscard]] WorkloadFit fit_workload(const LoggedJobs& log, const WorkloadFitRequest& request);

/// A cluster file (keys: cluster_fields()) of the model: order fifo with backfill easy, since logs
/// do not show the policy.
[[nodiscard]] std::string workload_yaml(const WorkloadFit& fit);
/// Arrivals, durations, sizes, limits and how well they fit.
[[nodiscard]] Answer workload_fit_answer(const WorkloadFit& fit);
/// Schema cluster-fit/1: planner/schemas/cluster-fit.schema.json.
[[nodiscard]] std::string workload_fit_json(const WorkloadFit& fit);
[[nodiscard]] const ValueRows& workload_fit_document();

}  // namespace foretrain
