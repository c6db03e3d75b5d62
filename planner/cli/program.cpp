// SPDX-License-Identifier: Apache-2.0

#include "planner/cli/program.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "planner/cli/command_line.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"

namespace foretrain {
namespace {

constexpr const char* about =
    "Foretrain forecasts LLM training on a GPU cluster: whether it fits, how fast a step\n"
    "runs, where the time goes, and how long the whole run takes; and deployments that\n"
    "answer requests.";

/// What writes files has --force.
void add_forces(CommandRow& command) {
  if (std::ranges::any_of(command.options,
                          [](const OptionRow& row) { return row.writes.has_value(); }))
    add_force_option(command);
  for (CommandRow& child : command.commands) add_forces(child);
}

}  // namespace

CommandRow program_row() {
  static bool asked = false;  // version_text() answers it
  CommandRow program{"foretrain", about};
  program.flag("--version", asked, "Display program version information and exit");
  for (const CommandGroup& group : command_groups())
    for (CommandRow (*const make)() : group.commands) {
      CommandRow command = make();
      command.group = group.task;
      add_forces(command);
      program.commands.push_back(std::move(command));
    }
  program.texts = {
      .notes = "foretrain COMMAND --help shows the options of a command.",
      .examples = {
          "foretrain init run.yaml --model llama3-8b --host dgx-h100 --hosts 4",
          "foretrain plan run.yaml", "foretrain simulate scenarios/llama3.1-70b-1024xh100.yaml",
          "foretrain sweep scenarios/llama3.1-70b-1024xh100.yaml --vary parallel.tensor=2,4,8",
          "foretrain explain scenarios/llama3.1-70b-1024xh100.yaml mfu", "foretrain show models"}};
  return program;
}

int run_program(int argc, const char* const* argv) {
  forget_command_line();
  const CommandRow program = program_row();
  const ParsedLine line = parse_line(program, argc, argv);
  if (line.exit_code) return *line.exit_code;
  refuse_other_questions(*line.path.back());
  check_outputs(line.path);
  return line.path.back()->run();
}

CapturedRun run_captured(const std::vector<std::string>& words, std::string input) {
  std::vector<const char*> arguments{"foretrain"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  TerminalCapture capture(std::move(input));
  const int code = run_program(static_cast<int>(arguments.size()), arguments.data());
  return {code, std::move(capture.output), std::move(capture.diagnostics)};
}

}  // namespace foretrain
