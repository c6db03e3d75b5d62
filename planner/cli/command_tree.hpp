// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace foretrain {

/// What a value is, so that a shell can offer some.
enum class ValueKind { none, file, folder, key, word, other };

/// An option or a positional argument of a command.
struct TreeOption {
  std::vector<std::string> names;  ///< "--out", "-h"; empty for positional arguments
  std::string argument;            ///< name of a positional argument, "scenario"; else empty
  std::string value;               ///< what stands for its value, "FILE"; empty for flags
  std::string help;
  ValueKind kind = ValueKind::none;
  std::vector<std::string> words;  ///< legal values of kind word
  bool required = false;
  bool many = false;  ///< takes any number of values
};

struct TreeCommand {
  std::string name;
  std::string help;
  std::vector<std::string> notes;     ///< lines about the command as a whole
  std::vector<std::string> examples;  ///< without indentation
  std::string exit_codes;             ///< "0 ok, 2 bad usage or input"
  std::vector<TreeOption> options;
  std::vector<TreeOption> arguments;
  std::vector<TreeCommand> commands;
};

/// The commands and options as they are declared: the one source of help, completion and manual.
[[nodiscard]] TreeCommand command_tree(const CLI::App& app);

/// Scripts for the shells' completion.
[[nodiscard]] std::string bash_completion(const TreeCommand& program);
[[nodiscard]] std::string zsh_completion(const TreeCommand& program);
[[nodiscard]] std::string fish_completion(const TreeCommand& program);

/// A page of the manual, section 1, in roff. @param path names from the program on, {"foretrain",
/// "show"} @param version of the program
[[nodiscard]] std::string manual_page(const TreeCommand& command,
                                      const std::vector<std::string>& path,
                                      const std::string& version);

}  // namespace foretrain
