// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>

#include "planner/cli/commands.hpp"
#include "planner/cli/help/command_texts.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/program.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"
#include "scenarios/sections/scenario_fields.hpp"
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

namespace {

constexpr const char* made_by = "# Made by foretrain completion; do not edit.\n";

/// In single quotes, for any POSIX shell and for zsh.
std::string shell_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string joined_words(const std::vector<std::string>& words, const std::string& behind = "") {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(word + behind);
  return text;
}

std::vector<std::string> names_of(const CommandRow& command) {
  std::vector<std::string> names;
  for (const CommandRow& child : command.commands) names.push_back(child.name);
  return names;
}

std::vector<std::string> option_names(const CommandRow& command) {
  std::vector<std::string> names;
  for (const OptionRow& option : command.named_options())
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

/// What offers values of an option, by kind; of words, what stands before them.
struct ValueOffer {
  ValueKind kind;
  const char* bash;
  const char* fish;
};
constexpr std::array value_offers{
    ValueOffer{ValueKind::none, "", ""},
    ValueOffer{ValueKind::file, "_foretrain_files -f", " -r -F"},
    ValueOffer{ValueKind::folder, "_foretrain_files -d", " -x -a '(__fish_complete_directories)'"},
    ValueOffer{ValueKind::key, "_foretrain_keys", " -x -a '(__foretrain_keys)'"},
    ValueOffer{ValueKind::word, "_foretrain_words ", " -x -a "},
    ValueOffer{ValueKind::other, "", " -x"}};

const ValueOffer& offer_of(ValueKind kind) {
  return *std::find_if(value_offers.begin(), value_offers.end(),
                       [&](const ValueOffer& offer) { return offer.kind == kind; });
}

std::string bash_values(const OptionRow& option) {
  const std::string offer = offer_of(option.kind()).bash;
  return option.kind() == ValueKind::word ? offer + shell_quoted(joined_words(option.words()))
                                          : offer;
}

/// The case of a command and those of its own commands; `path` is empty for the program.
std::string bash_cases(const CommandRow& command, const std::string& path) {
  std::string values;
  for (const OptionRow& option : command.named_options())
    if (option.kind() != ValueKind::none)
      values += fmt::format("        {}) {}; return ;;\n", fmt::join(option.names, "|"),
                            option.kind() == ValueKind::other ? ":" : bash_values(option));
  std::string text = fmt::format("    {})\n", shell_quoted(path));
  if (!values.empty()) text += "      case $before in\n" + values + "      esac\n";
  text += fmt::format("      if [[ $word == -* ]]; then _foretrain_words {}\n",
                      shell_quoted(joined_words(option_names(command))));
  const std::string names = joined_words(names_of(command));
  std::string offers = names.empty() ? "" : "_foretrain_words " + shell_quoted(names);
  for (const OptionRow& argument : command.arguments())
    if (offers.empty()) offers = bash_values(argument);
  // What follows a first file is a question or a quantity, or another file.
  const std::vector<OptionRow> arguments = command.arguments();
  for (std::size_t at = 1; at < arguments.size(); ++at)
    if (const OptionRow& argument = arguments[at]; argument.kind() == ValueKind::word)
      offers += "; COMPREPLY+=($(compgen -W " + shell_quoted(joined_words(argument.words())) +
                " -- \"$word\"))";
  if (!offers.empty()) text += "      else " + offers + "\n";
  text += "      fi ;;\n";
  for (const CommandRow& child : command.commands)
    text += bash_cases(child, path.empty() ? child.name : path + " " + child.name);
  return text;
}

void collect_paths(const CommandRow& command, const std::string& path,
                   std::vector<std::string>& paths) {
  for (const CommandRow& child : command.commands) {
    const std::string own = path.empty() ? child.name : path + " " + child.name;
    paths.push_back(own);
    collect_paths(child, own, paths);
  }
}

/// What --set takes.
std::vector<std::string> scenario_keys() {
  std::vector<std::string> keys;
  for (const Field& field : scenario_fields().fields())
    if (field.kind != FieldKind::group && field.path.find("[]") == std::string::npos)
      keys.push_back(field.path);
  return keys;
}

/// Text inside the brackets and colons of a zsh specification.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_action(const OptionRow& option) {
  switch (option.kind()) {
    case ValueKind::word:
      return "(" + joined_words(option.words()) + ")";
    case ValueKind::key:
      return "_foretrain_keys";
    case ValueKind::folder:
      return "_files -/";
    case ValueKind::file:
      return "_files";
    case ValueKind::none:
    case ValueKind::other:
      return " ";
  }
  return " ";
}

std::string zsh_value(const OptionRow& option) {
  if (option.kind() == ValueKind::none) return "";
  return ":" + zsh_text(option.value) + ":" + zsh_action(option);
}

/// The function of a command; nested commands have functions of their own.
std::string zsh_function(const CommandRow& command, const std::string& function) {
  std::string text;
  for (const CommandRow& child : command.commands)
    text += zsh_function(child, function + "_" + child.name);
  text += function + "() {\n";
  if (!command.commands.empty()) {
    text += "  local -a commands\n  commands=(\n";
    for (const CommandRow& child : command.commands)
      text += "    " + shell_quoted(zsh_text(child.name) + ":" + zsh_text(child.help)) + "\n";
    text += "  )\n";
  }
  text += "  local context state state_descr line\n  typeset -A opt_args\n  _arguments -C -s -S";
  for (const OptionRow& option : command.named_options())
    for (const std::string& name : option.names)
      text += " \\\n    " +
              shell_quoted("*" + name + "[" + zsh_text(option.help) + "]" + zsh_value(option));
  if (!command.commands.empty()) {
    text +=
        " \\\n    '1: :->command' \\\n    '*:: :->rest'\n  case $state in\n"
        "    command) _describe -t commands command commands ;;\n    rest) case $words[1] in\n";
    for (const CommandRow& child : command.commands)
      text += fmt::format("      {}) {}_{} ;;\n", child.name, function, child.name);
    return text + "    esac ;;\n  esac\n}\n\n";
  }
  if (const auto arguments = command.arguments(); !arguments.empty()) {
    const OptionRow& argument = arguments.front();
    text +=
        " \\\n    " + shell_quoted("*:" + zsh_text(argument.value) + ":" + zsh_action(argument));
  }
  return text + "\n}\n\n";
}

std::string fish_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string fish_value(const OptionRow& option) {
  const std::string offer = offer_of(option.kind()).fish;
  return option.kind() == ValueKind::word ? offer + fish_quoted(joined_words(option.words()))
                                          : offer;
}

std::string fish_lines(const CommandRow& command, const std::string& condition, bool program) {
  std::string here = condition;
  const std::string names = joined_words(names_of(command));
  if (!names.empty() && !program) here += "; and not __fish_seen_subcommand_from " + names;
  std::string text;
  for (const OptionRow& option : command.named_options()) {
    text += "complete -c foretrain -n " + fish_quoted(here);
    for (const std::string& name : option.names)
      text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    text += fish_value(option) + " -d " + fish_quoted(option.help) + "\n";
  }
  const bool files = std::ranges::any_of(command.arguments(), [](const auto& argument) {
    return argument.kind() == ValueKind::file || argument.kind() == ValueKind::folder;
  });
  if (files) text += "complete -c foretrain -n " + fish_quoted(here) + " -F\n";
  for (const CommandRow& child : command.commands) {
    text += fmt::format("complete -c foretrain -n {} -a {} -d {}\n", fish_quoted(here), child.name,
                        fish_quoted(child.help));
    const std::string seen = "__fish_seen_subcommand_from " + child.name;
    text += fish_lines(child, program ? seen : fmt::format("{}; and {}", condition, seen), false);
  }
  return text;
}

}  // namespace

std::string bash_completion(const CommandRow& program) {
  std::vector<std::string> paths;
  collect_paths(program, "", paths);
  std::string known;
  for (const std::string& path : paths) known += (known.empty() ? "" : "|") + shell_quoted(path);
  std::string text = made_by;
  text +=
      "_foretrain_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$word\"); }\n"
      "_foretrain_files() { compopt -o filenames 2>/dev/null; "
      "mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$word\"); }\n"
      "_foretrain_keys() { compopt -o nospace 2>/dev/null; _foretrain_words " +
      shell_quoted(joined_words(scenario_keys(), "=")) + "; }\n";
  text += fmt::format(
      "_foretrain() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} path= i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"${{path:+$path }}${{COMP_WORDS[i]}}\" in {}) "
      "path=\"${{path:+$path }}${{COMP_WORDS[i]}}\" ;; esac\n"
      "  done\n"
      "  case $path in\n",
      known);
  return text + bash_cases(program, "") + "  esac\n}\ncomplete -F _foretrain foretrain\n";
}

std::string zsh_completion(const CommandRow& program) {
  std::string text = std::string("#compdef foretrain\n") + made_by;
  text += "_foretrain_keys() { local -a keys; keys=(" + joined_words(scenario_keys()) +
          "); compadd -S = -a keys }\n\n";
  return text + zsh_function(program, "_foretrain") + "_foretrain \"$@\"\n";
}

std::string fish_completion(const CommandRow& program) {
  std::string text = std::string(made_by) + "function __foretrain_keys\n  printf '%s\\n' " +
                     joined_words(scenario_keys(), "=") + "\nend\ncomplete -c foretrain -f\n";
  return text + fish_lines(program, "__fish_use_subcommand", true);
}

}  // namespace foretrain
