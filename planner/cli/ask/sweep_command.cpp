// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "planner/cli/ask/sweep_run.hpp"
#include "planner/cli/commands.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

void add_output_options(CLI::App& app, SweepOptions& options) {
  add_answer_output(app, options.output, "schema sweep/1", {}, "one row per point");
}

void add_grid_options(CLI::App& app, SweepOptions& options) {
  app.add_option("--vary", options.axes,
                 "A key with its values: parallel.tensor=1,2,4,8 (may be repeated)")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("KEY=LIST");
  app.add_option("--engine", options.engine, "How to compute: closed-form, path or event")
      ->type_name("NAME");
  app.add_option("--metrics", options.metrics,
                 "Metrics to keep of each forecast; the first one orders the best points")
      ->type_name("NAMES");
}

void add_run_options(CLI::App& app, SweepOptions& options) {
  app.add_option("-j,--workers", options.workers,
                 "Processes (default: one per core); the result is the same")
      ->type_name("N");
  app.add_option("--timeout", options.timeout, "Time limit of one point, in seconds")
      ->type_name("SECONDS");
  app.add_option("--db", options.db, "Keep the result in an SQLite file")->type_name("FILE");
  app.add_flag("--resume", options.resume, "Resume the result in --db, if there is one");
  app.add_flag("--retry", options.retry, "With --resume: retry failed points");
  app.add_option("--shard", options.shard, "Only part I of N of the points")->type_name("I/N");
  app.add_option("--emit", options.emit, "Print a Slurm array script instead: sbatch")
      ->type_name("NAME");
  app.add_option("--tasks", options.tasks, "Tasks of the array (default: 16)")->type_name("N");
  app.add_flag("--timing", options.timing, "Print time and speed to standard error");
}

constexpr const char* footer =
    "A list holds values, or LO..HI, LO..HI+STEP and LO..HI*FACTOR for whole numbers. Keys that\n"
    "change together: --vary parallel.tensor,parallel.pipeline=8:4,4:8. Any key of a scenario can\n"
    "be varied; `foretrain explain SCENARIO` lists the metrics.\n"
    "Examples:\n"
    "  foretrain sweep run.yaml --vary parallel.tensor=1,2,4,8 --vary training.micro_batch=1..8\n"
    "  foretrain sweep run.yaml --vary cluster.hosts=1..1024*2 --metrics step.time_s,mfu --csv\n"
    "  foretrain sweep run.yaml --vary training.global_batch=64..8192+64 --db s.sqlite --resume\n"
    "  mpirun -n 32 foretrain sweep run.yaml --vary ... --db s.sqlite --resume\n"
    "  foretrain sweep run.yaml --vary ... --db part1.sqlite --shard 1/2\n"
    "  foretrain sweep merge all.sqlite part1.sqlite part2.sqlite\n"
    "  foretrain sweep export all.sqlite --csv\n"
    "  foretrain sweep run.yaml --vary ... --emit sbatch --tasks 64 -j 8 --out sweep.sh\n"
    "Exit codes: 0 ok, 2 bad usage or input, 6 points without an answer, 130 interrupted.";

}  // namespace

Command add_sweep_command(CLI::App& program) {
  const auto options = std::make_shared<SweepOptions>();
  const auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* app = program.add_subcommand("sweep", "Forecast every point of a grid of settings");
  app->add_option("scenario", options->scenario.file, "Scenario file, or - for standard input")
      ->type_name("SCENARIO");
  add_grid_options(*app, *options);
  add_run_options(*app, *options);
  add_output_options(*app, *options);
  add_scenario_options(*app, options->scenario);
  app->footer(footer);

  CLI::App* merge = app->add_subcommand("merge", "Merge results of shards into a new file");
  merge->add_option("files", *files, "The new file, then the results to join")->type_name("FILE");
  CLI::App* exported = app->add_subcommand("export", "Print a result that is in an SQLite file");
  const auto file = std::make_shared<std::string>();
  exported->add_option("file", *file, "The result")->required()->type_name("FILE");
  add_output_options(*exported, *options);
  return {app, [=] {
            if (merge->parsed()) return run_sweep_merge(*files);
            if (exported->parsed()) return run_sweep_export(*file, *options);
            if (options->scenario.file.empty())
              throw UsageError("sweep: which scenario? foretrain sweep SCENARIO --vary KEY=LIST");
            return run_sweep(*options);
          }};
}

}  // namespace foretrain
