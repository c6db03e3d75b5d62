// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <string>

#include "planner/cli/commands.hpp"
#include "planner/cli/help/command_texts.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/program.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

int complete(const std::string& shell) {
  const CommandRow program = program_row();
  if (shell == "bash") return deliver(bash_completion(program));
  if (shell == "zsh") return deliver(zsh_completion(program));
  return deliver(fish_completion(program));
}

/// foretrain.1 on standard output, or every page into a folder.
int write_manual(const std::string& folder) {
  const CommandRow program = program_row();
  if (folder.empty()) return deliver(manual_page(program, {program.name}, version));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw UsageError("cannot make the folder " + in_quotes(folder) + ": " + error.message());
  const std::filesystem::path place = folder;
  write_file(place / (program.name + ".1"), manual_page(program, {program.name}, version));
  for (const CommandRow& command : program.commands)
    write_file(place / (program.name + "-" + command.name + ".1"),
               manual_page(command, {program.name, command.name}, version));
  return exit_ok;
}

}  // namespace

CommandRow completion_command() {
  const auto shell = std::make_shared<std::string>();
  CommandRow command{"completion", "Print a shell's script that completes our commands"};
  command.option("shell", *shell, "SHELL", "bash, zsh or fish",
                 {.required = true, .legal = {"bash", "zsh", "fish"}});
  command.texts = {
      .notes = "An installed package has the scripts in place already.",
      .examples =
          {"source <(foretrain completion bash)",
           "foretrain completion bash > ~/.local/share/bash-completion/completions/foretrain",
           "foretrain completion zsh > ~/.zfunc/_foretrain",
           "foretrain completion fish > ~/.config/fish/completions/foretrain.fish"},
      .exits = {{exit_usage, "bad usage"}}};
  command.run = [shell] { return complete(*shell); };
  return command;
}

CommandRow man_command() {
  const auto folder = std::make_shared<std::string>();
  CommandRow command{"man", "Write the manual: a page per command"};
  command.option("folder", *folder, "DIR",
                 "Folder to write to; without one, foretrain(1) is printed");
  command.texts = {
      .notes = "An installed package has the pages in place already.",
      .examples = {"foretrain man | man -l -", "foretrain man ~/.local/share/man/man1"},
      .exits = {{exit_usage, "bad usage"}}};
  command.run = [folder] { return write_manual(*folder); };
  return command;
}

}  // namespace foretrain
