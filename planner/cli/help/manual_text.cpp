// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "planner/cli/help/command_texts.hpp"

namespace foretrain {
namespace {

/// Text of roff: backslashes, hyphens that are minus signs, and lines that would be requests.
std::string roff(const std::string& text) {
  std::string result;
  bool start = true;
  for (const char c : text) {
    if (start && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
    start = c == '\n';
  }
  return result;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string joined_path(const std::vector<std::string>& path, const char* between) {
  return fmt::format("{}", fmt::join(path, between));
}

std::string synopsis(const CommandRow& command, const std::vector<std::string>& path) {
  std::string text = "\\fB" + roff(joined_path(path, " ")) + "\\fR";
  if (!command.commands.empty()) return text + " \\fICOMMAND\\fR ...";
  for (const OptionRow& argument : command.arguments())
    text += argument.required ? " \\fI" + roff(argument.value) + "\\fR"
                              : " [\\fI" + roff(argument.value) + "\\fR]";
  return text + " [\\fIOPTION\\fR...]";
}

std::string option_entry(const OptionRow& option) {
  std::string tag;
  for (const std::string& name : option.names)
    tag += (tag.empty() ? "" : ", ") + ("\\fB" + roff(name) + "\\fR");
  if (tag.empty())
    tag = "\\fI" + roff(option.value) + "\\fR";
  else if (!option.value.empty())
    tag += " \\fI" + roff(option.value) + "\\fR";
  std::string help = option.help;
  if (option.kind() == ValueKind::word)
    help += fmt::format(". One of {}", fmt::join(option.words(), ", "));
  return ".TP\n" + tag + "\n" + roff(help) + ".\n";
}

std::string options_section(const CommandRow& command, const std::string& heading) {
  std::string text;
  for (const OptionRow& argument : command.arguments()) text += option_entry(argument);
  for (const OptionRow& option : command.named_options()) text += option_entry(option);
  return text.empty() ? "" : heading + text;
}

std::string examples(const CommandRow& command, const std::string& heading) {
  if (command.texts.examples.empty()) return "";
  std::string text = heading + ".EX\n";
  for (const std::string& example : command.texts.examples) text += roff(example) + "\n";
  return text + ".EE\n";
}

std::string notes_text(const CommandRow& command) {
  return command.texts.notes.empty() ? "" : ".PP\n" + roff(command.texts.notes) + "\n";
}

std::string exits_of(const CommandRow& command) {
  return roff(fmt::format("{}", fmt::join(exit_texts(command), ", ")));
}

std::string commands_section(const CommandRow& command, const std::vector<std::string>& path) {
  if (command.commands.empty()) return "";
  std::string text = ".SH COMMANDS\n";
  const bool program = path.size() == 1;
  for (const CommandRow& child : command.commands) {
    if (program) {
      text += ".TP\n\\fB" + roff(path.front() + "-" + child.name) + "\\fR(1)\n" + roff(child.help) +
              ".\n";
      continue;
    }
    std::vector<std::string> below = path;
    below.push_back(child.name);
    text += ".SS " + roff(child.name) + "\n" + synopsis(child, below) + "\n.PP\n" +
            roff(child.help) + ".\n" + notes_text(child) + options_section(child, "") +
            examples(child, ".PP\nExamples:\n.PP\n");
    if (const std::string exits = exits_of(child); !exits.empty())
      text += ".PP\nExit status: " + exits + "\n";
  }
  return text;
}

}  // namespace

std::string manual_page(const CommandRow& command, const std::vector<std::string>& path,
                        const std::string& release) {
  const std::string name = joined_path(path, "-");
  std::string help = command.help;
  std::ranges::replace(help, '\n', ' ');
  const std::string brief = path.size() == 1 ? "forecast LLM training on a GPU cluster" : help;
  // Left-adjusted and without hyphenation: commands must be copied as they are.
  std::string text =
      fmt::format(".TH {} 1 \"\" \"foretrain {}\" \"Foretrain manual\"\n.ad l\n.nh\n",
                  roff(upper(name)), roff(release));
  text += ".SH NAME\n" + roff(name) + " \\- " + roff(brief) + "\n";
  text += ".SH SYNOPSIS\n" + synopsis(command, path) + "\n";
  text += ".SH DESCRIPTION\n" + roff(help) + (help.ends_with('.') ? "" : ".") + "\n" +
          notes_text(command);
  text += commands_section(command, path) + options_section(command, ".SH OPTIONS\n") +
          examples(command, ".SH EXAMPLES\n");
  if (const std::string exits = exits_of(command); !exits.empty())
    text += ".SH EXIT STATUS\n" + exits + "\n";
  text += ".SH SEE ALSO\n";
  return text + (path.size() == 1 ? "\\fBforetrain\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR\n"
                                  : "\\fBforetrain\\fR(1)\n");
}

}  // namespace foretrain
