// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <system_error>

#include "planner/cli/calibrate_commands.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/constants/harness_run.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

struct RunOptions {
  std::string budget = "5 min";
  std::string out = "calibration-run";
  std::string programs;
  std::string launcher = "srun";
  int gpus = 0;
  int nodes = 1;
  int gpus_per_node = 8;
  bool print = false;
};

int run_harness_command(const RunOptions& options) {
  const Parsed<double> budget = parse_quantity(options.budget, Dimension::time);
  if (!budget.value) throw UsageError("--budget: " + budget.error);
  constexpr double most = 86400.0;
  if (*budget.value < 1.0 || *budget.value > most)
    throw UsageError("--budget is a time from 1 s to 24 h");
  HarnessRequest request;
  request.budget_s = *budget.value;
  request.out = options.out;
  request.programs = options.programs;
  std::error_code error;
  request.own_folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  request.gpus = options.gpus;
  request.date = fmt::format(
      "{:%Y-%m-%dT%H:%M:%SZ}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  request.version = version;
  request.replace = force_given();
  if (options.print) {
    if (options.launcher != "srun" && options.launcher != "mpirun")
      refuse_value("--launcher", options.launcher, {"srun", "mpirun"});
    return deliver(harness_lines(request, options.launcher, options.nodes, options.gpus_per_node));
  }
  const bool fine = run_harness(request, [](const std::string& line) { write_diagnostic(line); });
  write_diagnostic("raw measurements are in " + options.out);
  return fine ? exit_ok : exit_internal;
}

}  // namespace

CommandRow calibrate_run_command() {
  const auto options = std::make_shared<RunOptions>();
  CommandRow command{"run", "Measure this machine with the programs of calibration/harness"};
  command.option("--budget", options->budget, "TIME", "Time for all measurements together",
                 {.shows_default = true});
  command.option("--out", options->out, "DIR", "Folder for the raw JSON Lines",
                 {.shows_default = true});
  add_force_option(command);
  command.option("--programs", options->programs, "DIR",
                 "Folder of foretrain-gpubench and foretrain-ncclbench; by default that of this "
                 "program, then the PATH");
  command.option("--gpus", options->gpus, "N",
                 "GPUs of this host for collectives; 1: kernels alone", {.range = {{1, 64}}});
  command.flag("--print", options->print, "Print the lines for a cluster instead of measuring");
  command.option("--launcher", options->launcher, "NAME", "With --print: srun or mpirun",
                 {.shows_default = true});
  command.option("--nodes", options->nodes, "N", "With --print: hosts", {.range = {{1, 100'000}}});
  command.option("--gpus-per-node", options->gpus_per_node, "N", "With --print: GPUs of each host",
                 {.range = {{1, 1024}}});
  command.texts = {.examples = {"foretrain calibrate run --budget \"5 min\" --out run1",
                                "foretrain calibrate run --print --nodes 4 --gpus-per-node 8"},
                   .exits = {{exit_ok, "measured"},
                             {exit_internal, "a program failed"},
                             {exit_usage, "bad usage, no programs or no GPU"}}};
  command.run = [options] { return run_harness_command(*options); };
  return command;
}

}  // namespace foretrain
