// SPDX-License-Identifier: Apache-2.0

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>

#include "calibration/fit/fold.hpp"
#include "planner/cli/answer_output.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/source_options.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/constants/constants.hpp"
#include "planner/constants/harness_run.hpp"
#include "planner/constants/measured_check.hpp"
#include "planner/own_runs/own_suggest.hpp"
#include "planner/own_runs/own_worth.hpp"
#include "planner/text/quoting.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

struct CheckOptions {
  LogOptions logs;
  std::vector<std::string> profiles;
  OwnFolders folders;
  AnswerOutput output;
  bool skipped = false;
};

struct CompareOptions {
  std::string a;
  std::string b;
  OwnFolders folders;
  AnswerOutput output;
  bool all = false;
};

int run_check(const CheckOptions& options) {
  MeasuredCheckRequest request;
  request.logs = log_request(options.logs);
  request.catalogs = own_roots(options.folders);
  request.profiles = options.profiles;
  const MeasuredCheck check = check_measured(request);
  return deliver_answer(options.output, {"check", [&] { return measured_check_json(check); }}, [&] {
    Answer answer = measured_check_answer(check, options.skipped);
    if (!options.skipped && !answer.head.figures.empty() && options.logs.files.size() == 1)
      answer.head.next =
          "foretrain calibrate check " + shell_words({options.logs.files.front()}) + " --skipped";
    return answer;
  });
}

int run_compare(const CompareOptions& options) {
  const ProfileComparison comparison =
      compare_profiles(options.a, options.b, own_roots(options.folders));
  return deliver_answer(
      options.output,
      {"comparison of profiles", [&] { return profile_comparison_json(comparison); }},
      [&] { return profile_comparison_answer(comparison, options.all); });
}

}  // namespace

CommandRow calibrate_check_command() {
  const auto options = std::make_shared<CheckOptions>();
  CommandRow command{"check", "Predict measurements that were not fitted, and show the error"};
  command.option("records", options->logs.files, "FILE|DIR",
                 "Logs, records in the formats of `import`, or folders of those",
                 {.required = true});
  command.option("--profile", options->profiles, "PROFILE",
                 "Profile of a device, fabric, site or stack in place of the shipped one: a path, "
                 "or LAYER/NAME (may be repeated)",
                 {.repeated = true});
  add_log_options(command, options->logs);
  command.flag("--skipped", options->skipped, "Show why records were not predicted");
  add_answer_output(command, options->output, "predicted and measured, with bands");
  add_folder_options(command, options->folders);
  command.texts = {.examples = {"foretrain calibrate check gpubench.jsonl --profile my-h100.yaml",
                                "foretrain calibrate check runs.yaml --profile my-h100.yaml "
                                "--profile my-h100-site.yaml"},
                   .exits = {{exit_ok}}};
  command.run = [options] { return run_check(*options); };
  return command;
}

CommandRow calibrate_compare_command() {
  const auto options = std::make_shared<CompareOptions>();
  CommandRow command{"compare", "Compare two profiles, or a profile with the shipped one"};
  command.option("a", options->a, "PROFILE",
                 "Path of a profile, or device/NAME, stack/NAME, site/NAME, "
                 "fabric/NAME",
                 {.required = true});
  command.option("b", options->b, "PROFILE",
                 "The other one; by default the shipped profile behind the first");
  command.flag("--all", options->all, "List constants that are the same as well");
  add_answer_output(command, options->output, "every constant of both");
  add_folder_options(command, options->folders);
  command.texts = {.examples = {"foretrain calibrate compare my-h100.yaml",
                                "foretrain calibrate compare site/selene site/dgx-h100-ndr"},
                   .exits = {{exit_ok}}};
  command.run = [options] { return run_compare(*options); };
  return command;
}

namespace {

struct ConstantOptions {
  std::vector<std::string> layers;
  OwnFolders folders;
  AnswerOutput output;
};

int run_constants(const ConstantOptions& options) {
  ConstantRequest request;
  request.catalogs = own_roots(options.folders);
  request.layers = options.layers;
  const ConstantTable table = constant_table(request);
  return deliver_answer(options.output,
                        {"constants", [&] { return constants_json(table); },
                         [&] { return constants_table_csv(table); }},
                        [&] { return constants_answer(table); });
}

}  // namespace

CommandRow calibrate_constants_command() {
  const auto options = std::make_shared<ConstantOptions>();
  CommandRow command{
      "constants",
      "Show every constant: what it means, its prior, its value, how sure that is and "
      "which records say so"};
  command.option("--kind", options->layers, "KIND",
                 "Constants of devices, stacks, sites or fabrics alone (may be repeated)",
                 {.repeated = true, .legal = {"device", "stack", "site", "fabric"}});
  add_answer_output(command, options->output, "with meanings", "a line per constant");
  add_folder_options(command, options->folders);
  command.texts = {.examples = {"foretrain calibrate constants --kind site",
                                "foretrain calibrate constants --csv --out constants.csv"},
                   .exits = {{exit_ok}}};
  command.run = [options] { return run_constants(*options); };
  return command;
}

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

namespace {

struct SuggestOptions {
  std::vector<std::string> scenarios;
  std::vector<std::string> runs;
  ScenarioOptions scenario;  ///< overrides and folders of all of them
  int hosts = 0;
  AnswerOutput output;
};

int run_suggest(const SuggestOptions& options) {
  OwnSuggestRequest request;
  for (const std::string& file : options.scenarios) {
    ScenarioOptions scenario = options.scenario;
    scenario.file = file;
    request.scenarios.push_back(read_scenario(scenario));
  }
  request.files = {options.runs.begin(), options.runs.end()};
  request.catalogs = own_roots(options.scenario.folders);
  request.most_hosts = options.hosts;
  const OwnSuggestion suggestion = suggest_runs(request);
  return deliver_answer(options.output,
                        {"suggested runs", [&] { return own_suggestion_json(suggestion); }}, [&] {
                          Answer answer = own_suggestion_answer(suggestion);
                          ScenarioOptions first = options.scenario;
                          first.file = options.scenarios.front();
                          if (const std::string source = source_words(first); !source.empty())
                            answer.head.next = "foretrain explain " + source + " step.band";
                          return answer;
                        });
}

}  // namespace

CommandRow calibrate_suggest_command() {
  const auto options = std::make_shared<SuggestOptions>();
  CommandRow command{"suggest",
                     "Which run of a few minutes would make the forecasts of plans surest"};
  command.option("scenarios", options->scenarios, "SCENARIO", "Plans in question",
                 {.required = true});
  command.option("--runs", options->runs, "FILE",
                 "Your runs so far, as for calibrate fit --runs; without: what ships");
  command.option("--hosts", options->hosts, "N", "Hosts that a run may take at most",
                 {.range = {{1, 100000}}});
  add_answer_output(command, options->output, "schema own-suggest/1");
  add_scenario_options(command, options->scenario);
  command.texts = {
      .examples = {"foretrain calibrate suggest scenarios/llama3.1-70b-1024xh100.yaml --hosts 4",
                   "foretrain calibrate suggest plan-a.yaml plan-b.yaml --runs mine.yaml"},
      .exits = {{exit_ok}}};
  command.run = [options] { return run_suggest(*options); };
  return command;
}

namespace {

struct WorthOptions {
  std::vector<std::string> sources;
  std::vector<int> fitted;
  int draws = OwnDrawsOptions{}.draws;
  std::string cache;
  AnswerOutput output;
  OwnFolders folders;
};

int run_worth(const WorthOptions& options) {
  OwnWorthRequest request;
  request.catalogs = own_roots(options.folders);
  request.sources = options.sources;
  if (!options.fitted.empty()) request.draws.fitted = options.fitted;
  request.draws.draws = options.draws;
  request.draws.stop = &Interruption::noted();
  request.cache = options.cache.empty() ? usual_fold_cache() : std::filesystem::path(options.cache);
  if (isatty(STDERR_FILENO) == 1)
    request.progress = [](const std::string& source, std::size_t done, std::size_t of) {
      std::cerr << fmt::format("\r\033[Kfit {} of {}: without {}{}", done + 1, of, source,
                               done + 1 == of ? "\n" : "")
                << std::flush;
    };
  const Interruption interruption;
  const OwnWorth worth = own_worth(request);
  const int delivered =
      deliver_answer(options.output, {"worth of own runs", [&] { return own_worth_json(worth); }},
                     [&] { return own_worth_answer(worth); });
  return worth.stopped ? Interruption::exit_code() : delivered;
}

}  // namespace

CommandRow calibrate_worth_command() {
  const auto options = std::make_shared<WorthOptions>();
  CommandRow command{
      "worth", "What a few runs of one's own are worth, on published runs left out of the fit"};
  command.option("--source", options->sources, "NAME", "Sources of published runs (default: all)");
  command.option("--own", options->fitted, "N", "Numbers of own runs (default: 1, 2, 3 and 5)",
                 {.range = {{1, 100}}});
  command.option("--draws", options->draws, "N", "Random choices of own runs, of each number",
                 {.shows_default = true, .range = {{1, 10000}}});
  command.option("--cache", options->cache, "DIR",
                 "Folder that keeps the fits without a source, as that of validate --leave-out");
  add_answer_output(command, options->output, "schema own-worth/1");
  add_folder_options(command, options->folders);
  command.texts = {.examples = {"foretrain calibrate worth",
                                "foretrain calibrate worth --source yafsdp --own 3 --draws 200"},
                   .exits = {{exit_interrupted}}};
  command.run = [options] { return run_worth(*options); };
  return command;
}

}  // namespace foretrain
