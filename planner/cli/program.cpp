// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/program.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/base/contains.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/help/program_build.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {
namespace {

std::string option_hint(const CLI::App& app, const std::string& extra) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return nearest_hint(extra.substr(0, extra.find('=')), names);
}

/// CLI11's sentence for a usage error, with the nearest option where one was misspelt.
std::string usage_message(CLI::App& program, const CLI::ParseError& error) {
  std::string message = error.what();
  std::ranges::replace(message, '\n', ' ');
  for (CLI::App* app : program.get_subcommands())
    for (const std::string& extra : app->remaining())
      if (extra.starts_with("-")) return message + option_hint(*app, extra);
  return message;
}

int parse_failure(CLI::App& program, const CLI::ParseError& error) {
  if (error.get_name() == "CallForHelp") {
    const CLI::App* subject = &program;
    std::string path;
    while (!subject->get_subcommands().empty()) {
      path += (path.empty() ? "" : " ") + subject->get_name();
      subject = subject->get_subcommands().front();
    }
    return deliver(subject->help(path));
  }
  if (error.get_name() == "CallForVersion") return deliver(version_text());
  write_diagnostic("foretrain: " + usage_message(program, error));
  const auto parsed = program.get_subcommands();
  write_diagnostic("see foretrain " + (parsed.empty() ? "" : parsed.front()->get_name() + " ") +
                   "--help");
  return exit_usage;
}

/// CLI11 reports a misspelt subcommand as an unexpected argument; this names the nearest one.
void check_subcommand(const CLI::App& program, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-' || argv[1][0] == '\0') return;
  std::vector<std::string> names;
  for (const CLI::App* app : program.get_subcommands(nullptr)) names.push_back(app->get_name());
  const std::string word = argv[1];
  if (contains(names, word)) return;
  throw UsageError("there is no command " + in_quotes(word) + " (commands: " + joined(names) + ")" +
                   nearest_hint(word, names));
}

constexpr const char* about =
    "Foretrain forecasts LLM training on a GPU cluster: whether it fits, how fast a step\n"
    "runs, where the time goes, and how long the whole run takes; and deployments that\n"
    "answer requests.";

/// Gives the program its options and commands.
std::vector<Command> add_commands(CLI::App& program) {
  program.set_version_flag("--version", std::string("foretrain ") + version);
  program.require_subcommand(1);
  program.failure_message(CLI::FailureMessage::simple);
  using Add = Command (*)(CLI::App&);
  struct Group {
    const char* task;
    std::vector<Add> commands;
  };
  const std::vector<Group> groups{
      {"Start: your own job", {add_init_command, add_plan_command, add_simulate_command}},
      {"Ask",
       {add_fit_command, add_solve_command, add_explain_command, add_goodput_command,
        add_sensitivity_command, add_sweep_command, add_procure_command, add_serve_command,
        add_cluster_command, add_collective_command}},
      {"Look", {add_show_command, add_report_command, add_gui_command}},
      {"Compare", {add_compare_command, add_diagnose_command, add_check_command}},
      {"Calibrate", {add_calibrate_command, add_validate_command, add_device_command}},
      {"Operate",
       {add_import_command, add_export_command, add_replay_command, add_doctor_command,
        add_completion_command, add_man_command}}};
  std::vector<Command> commands;
  for (const Group& group : groups)
    for (const Add add : group.commands) {
      commands.push_back(add(program));
      commands.back().app->group(group.task);
    }
  program.footer(
      "Examples:\n"
      "  foretrain init run.yaml --model llama3-8b --host dgx-h100 --hosts 4\n"
      "  foretrain plan run.yaml\n"
      "  foretrain simulate scenarios/llama3.1-70b-1024xh100.yaml\n"
      "  foretrain sweep scenarios/llama3.1-70b-1024xh100.yaml --vary parallel.tensor=2,4,8\n"
      "  foretrain explain scenarios/llama3.1-70b-1024xh100.yaml mfu\n"
      "  foretrain show models\n"
      "foretrain COMMAND --help shows the options of a command.");
  return commands;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  forget_command_line();
  CLI::App program{about, "foretrain"};
  const std::vector<Command> commands = add_commands(program);
  check_subcommand(program, argc, argv);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return parse_failure(program, error);
  }
  check_outputs(program);
  for (const Command& command : commands)
    if (command.app->parsed()) return command.run();
  throw std::logic_error("no command ran");
}

CapturedRun run_captured(const std::vector<std::string>& words, std::string input) {
  std::vector<const char*> arguments{"foretrain"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  TerminalCapture capture(std::move(input));
  const int code = run_program(static_cast<int>(arguments.size()), arguments.data());
  return {code, std::move(capture.output), std::move(capture.diagnostics)};
}

TreeCommand program_tree() {
  CLI::App program{about, "foretrain"};
  (void)add_commands(program);
  forget_command_line();
  return command_tree(program);
}

}  // namespace foretrain
