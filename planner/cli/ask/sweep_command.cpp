// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "planner/cli/ask/sweep_run.hpp"
#include "planner/cli/commands.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

void add_output_options(CommandRow& command, SweepOptions& options) {
  add_answer_output(command, options.output, "schema sweep/1", "one row per point");
}

void add_grid_options(CommandRow& command, SweepOptions& options) {
  command.option("--vary", options.axes, "KEY=LIST",
                 "A key with its values: parallel.tensor=1,2,4,8 (may be repeated)",
                 {.repeated = true});
  command.option("--engine", options.engine, "NAME", "How to compute: closed-form, path or event");
  command.option("--metrics", options.metrics, "NAMES",
                 "Metrics to keep of each forecast; the first one orders the best points");
}

void add_run_options(CommandRow& command, SweepOptions& options) {
  command.option("-j,--workers", options.workers, "N",
                 "Processes (default: one per core); the result is the same",
                 {.range = {{1, most_workers}}});
  command.option("--timeout", options.timeout, "SECONDS", "Time limit of one point, in seconds");
  command.option("--db", options.db, "FILE", "Keep the result in an SQLite file");
  command.flag("--resume", options.resume, "Resume the result in --db, if there is one");
  command.flag("--retry", options.retry, "With --resume: retry failed points");
  command.option("--shard", options.shard, "I/N", "Only part I of N of the points");
  command.option("--emit", options.emit, "NAME", "Print a Slurm array script instead: sbatch");
  command.option("--tasks", options.tasks, "N", "Tasks of the array (default: 16)",
                 {.range = {{1, most_shards}}});
  command.flag("--timing", options.timing, "Print time and speed to standard error");
}

CommandRow merge_command() {
  const auto files = std::make_shared<std::vector<std::string>>();
  CommandRow command{"merge", "Merge results of shards into a new file"};
  command.option("files", *files, "FILE", "The new file, then the results to join");
  command.run = [files] { return run_sweep_merge(*files); };
  return command;
}

CommandRow export_command_of(const std::shared_ptr<SweepOptions>& options) {
  const auto file = std::make_shared<std::string>();
  CommandRow command{"export", "Print a result that is in an SQLite file"};
  command.option("file", *file, "FILE", "The result", {.required = true});
  add_output_options(command, *options);
  command.run = [options, file] { return run_sweep_export(*file, *options); };
  return command;
}

}  // namespace

CommandRow sweep_command() {
  const auto options = std::make_shared<SweepOptions>();
  CommandRow command{"sweep", "Forecast every point of a grid of settings"};
  command.option("scenario", options->scenario.file, "SCENARIO",
                 "Scenario file, or - for standard input");
  add_grid_options(command, *options);
  add_run_options(command, *options);
  add_output_options(command, *options);
  add_scenario_options(command, options->scenario);
  command.texts = {
      .notes =
          "A list holds values, or LO..HI, LO..HI+STEP and LO..HI*FACTOR for whole numbers. Keys "
          "that\n"
          "change together: --vary parallel.tensor,parallel.pipeline=8:4,4:8. Any key of a "
          "scenario "
          "can\n"
          "be varied; `foretrain explain SCENARIO` lists the metrics.",
      .examples =
          {"foretrain sweep run.yaml --vary parallel.tensor=1,2,4,8 --vary "
           "training.micro_batch=1..8",
           "foretrain sweep run.yaml --vary cluster.hosts=1..1024*2 --metrics step.time_s,mfu "
           "--csv",
           "foretrain sweep run.yaml --vary training.global_batch=64..8192+64 --db s.sqlite "
           "--resume",
           "mpirun -n 32 foretrain sweep run.yaml --vary ... --db s.sqlite --resume",
           "foretrain sweep run.yaml --vary ... --db part1.sqlite --shard 1/2",
           "foretrain sweep merge all.sqlite part1.sqlite part2.sqlite",
           "foretrain sweep export all.sqlite --csv",
           "foretrain sweep run.yaml --vary ... --emit sbatch --tasks 64 -j 8 --out sweep.sh"},
      .exits = {{exit_partial}, {exit_interrupted}}};
  command.commands = {merge_command(), export_command_of(options)};
  command.run = [options] {
    if (options->scenario.file.empty())
      throw UsageError("sweep: which scenario? foretrain sweep SCENARIO --vary KEY=LIST");
    return run_sweep(*options);
  };
  return command;
}

}  // namespace foretrain
