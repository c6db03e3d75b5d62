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

Command add_calibrate_run(CLI::App& calibrate) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* app = calibrate.add_subcommand(
      "run", "Measure this machine with the programs of calibration/harness");
  app->add_option("--budget", options->budget, "Time for all measurements together")
      ->type_name("TIME")
      ->capture_default_str();
  app->add_option("--out", options->out, "Folder for the raw JSON Lines")
      ->type_name("DIR")
      ->capture_default_str();
  add_force_option(*app);
  app->add_option("--programs", options->programs,
                  "Folder of foretrain-gpubench and foretrain-ncclbench; by default that of this "
                  "program, then the PATH")
      ->type_name("DIR");
  app->add_option("--gpus", options->gpus, "GPUs of this host for collectives; 1: kernels alone")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
  app->add_flag("--print", options->print, "Print the lines for a cluster instead of measuring");
  app->add_option("--launcher", options->launcher, "With --print: srun or mpirun")
      ->type_name("NAME")
      ->capture_default_str();
  app->add_option("--nodes", options->nodes, "With --print: hosts")
      ->type_name("N")
      ->check(CLI::Range(1, 100'000));
  app->add_option("--gpus-per-node", options->gpus_per_node, "With --print: GPUs of each host")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  app->footer(
      "Examples:\n"
      "  foretrain calibrate run --budget \"5 min\" --out run1\n"
      "  foretrain calibrate run --print --nodes 4 --gpus-per-node 8\n"
      "Exit codes: 0 measured, 1 a program failed, 2 bad usage, no programs or no GPU.");
  return {app, [options] { return run_harness_command(*options); }};
}

}  // namespace foretrain
