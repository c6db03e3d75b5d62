// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "models/base/require.hpp"
#include "planner/sweep/sweep_report.hpp"
#include "planner/text/shell_word.hpp"

namespace foretrain {
namespace {

constexpr double least_minutes = 10.0;

std::string time_limit(const SlurmArray& array) {
  const double seconds =
      static_cast<double>(array.points) / array.tasks / array.workers / array.points_per_s;
  const auto minutes = static_cast<std::int64_t>(std::ceil(least_minutes + seconds / 60.0));
  return fmt::format("{:02}:{:02}:00", minutes / 60, minutes % 60);
}

}  // namespace

std::string sbatch_script(const SlurmArray& array) {
  FORETRAIN_REQUIRE(array.tasks >= 1 && array.workers >= 1 && array.points_per_s > 0.0);
  std::string words;
  for (const std::string& argument : array.arguments) words += " " + shell_word(argument);
  return fmt::format(
      R"(#!/bin/bash
#SBATCH --job-name=foretrain-{name}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={workers}
#SBATCH --time={time}
#SBATCH --requeue
# {points} points of a sweep in {tasks} shards. Run by hand (bash FILE) it submits the shards, and
# a job that merges them into {name}.sqlite. A shard that was ended goes on where it stopped.
set -euo pipefail
foretrain=${{FORETRAIN:-foretrain}}
if [[ ${{1:-}} == merge ]]; then
  exec "$foretrain" sweep merge {name}.sqlite {name}-shard-*.sqlite
fi
if [[ -z ${{SLURM_ARRAY_TASK_ID:-}} ]]; then
  array=$(sbatch --parsable --array=1-{tasks} "$0")
  sbatch --dependency=afterany:"${{array%%;*}}" "$0" merge
  exit
fi
exec "$foretrain"{words} --resume \
  --db {name}-shard-"$SLURM_ARRAY_TASK_ID".sqlite --shard "$SLURM_ARRAY_TASK_ID"/{tasks} \
  -j "${{SLURM_CPUS_PER_TASK:-{workers}}}"
)",
      fmt::arg("name", array.name), fmt::arg("workers", array.workers),
      fmt::arg("time", time_limit(array)), fmt::arg("points", array.points),
      fmt::arg("tasks", array.tasks), fmt::arg("words", words));
}

}  // namespace foretrain
