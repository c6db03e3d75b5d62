// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <string>

#include "planner/cli/command_tree.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

int complete(const CLI::App& program, const std::string& shell) {
  const TreeCommand tree = command_tree(program);
  if (shell == "bash") return deliver(bash_completion(tree));
  if (shell == "zsh") return deliver(zsh_completion(tree));
  if (shell == "fish") return deliver(fish_completion(tree));
  refuse_value("completion", shell, {"bash", "zsh", "fish"});
}

/// foretrain.1 on standard output, or every page into a folder.
int write_manual(const CLI::App& program, const std::string& folder) {
  const TreeCommand tree = command_tree(program);
  if (folder.empty()) return deliver(manual_page(tree, {tree.name}, version));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw UsageError("cannot make the folder " + in_quotes(folder) + ": " + error.message());
  const std::filesystem::path place = folder;
  write_file(place / (tree.name + ".1"), manual_page(tree, {tree.name}, version));
  for (const TreeCommand& command : tree.commands)
    write_file(place / (tree.name + "-" + command.name + ".1"),
               manual_page(command, {tree.name, command.name}, version));
  return exit_ok;
}

}  // namespace

Command add_completion_command(CLI::App& program) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* app =
      program.add_subcommand("completion", "Print a shell's script that completes our commands");
  app->add_option("shell", *shell, "bash, zsh or fish")->required()->type_name("SHELL");
  app->footer(
      "An installed package has the scripts in place already.\n"
      "Examples:\n"
      "  source <(foretrain completion bash)\n"
      "  foretrain completion bash > ~/.local/share/bash-completion/completions/foretrain\n"
      "  foretrain completion zsh > ~/.zfunc/_foretrain\n"
      "  foretrain completion fish > ~/.config/fish/completions/foretrain.fish\n"
      "Exit codes: 0 ok, 2 bad usage.");
  return {app, [&program, shell] { return complete(program, *shell); }};
}

Command add_man_command(CLI::App& program) {
  const auto folder = std::make_shared<std::string>();
  CLI::App* app = program.add_subcommand("man", "Write the manual: a page per command");
  app->add_option("folder", *folder, "Folder to write to; without one, foretrain(1) is printed")
      ->type_name("DIR");
  app->footer(
      "An installed package has the pages in place already.\n"
      "Examples:\n"
      "  foretrain man | man -l -\n"
      "  foretrain man ~/.local/share/man/man1\n"
      "Exit codes: 0 ok, 2 bad usage.");
  return {app, [&program, folder] { return write_manual(program, *folder); }};
}

}  // namespace foretrain
