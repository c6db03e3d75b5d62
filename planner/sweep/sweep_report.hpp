// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/sweep/sweep_store.hpp"

namespace foretrain {

/// Takes the next piece of a report; false: nobody wants more.
using TextSink = std::function<bool(std::string_view)>;

/// One header row and one row per point, RFC 4180; what is unknown is empty.
void sweep_csv(const SweepStore& store, const TextSink& sink);
/// JSON, schema sweep/1, one line per point.
void sweep_json(const SweepStore& store, const TextSink& sink);
/// Counts, why points were refused, and the points that are best by the first metric.
[[nodiscard]] Answer sweep_answer(const SweepStore& store);
/// "KEY=VALUE" of the keys that varied, at the best point; none where no point is best.
[[nodiscard]] std::vector<std::string> best_settings(const SweepStore& store);
/// "61,200 ok, 38,000 infeasible, 800 invalid, 0 failed, 0 missing of 100,000 points"
[[nodiscard]] std::string counts_text(const SweepCounts& counts);

/// A sweep as jobs of a Slurm array.
struct SlurmArray {
  std::string name;                    ///< of the job and its files: letters, digits, '-'
  std::vector<std::string> arguments;  ///< of `foretrain`: the sweep without --db and --shard
  int tasks = 1;
  int workers = 1;  ///< of one task
  std::int64_t points = 0;
  double points_per_s = 1000.0;  ///< of one worker, at the least
};

/// A bash script: run by hand it submits the array, and a job that merges the results after it.
[[nodiscard]] std::string sbatch_script(const SlurmArray& array);

}  // namespace foretrain
