// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/command_tree.hpp"

#include <sstream>

#include "models/base/prediction.hpp"
#include "models/layers/flops.hpp"
#include "models/step/task_graph.hpp"
#include "planner/search/search.hpp"
#include "planner/solve/solve.hpp"
#include "scenarios/sections/scenario_fields.hpp"

namespace foretrain {
namespace {

template <class E>
std::vector<std::string> words_of() {
  std::vector<std::string> words;
  for (const auto name : all_names<E>()) words.emplace_back(name);
  return words;
}

/// The legal values of what takes one of a few names: those that a check of CLI11 lists,
/// "GRADE:{A,B}", or those of our enumerations.
std::vector<std::string> legal_words(const std::string& name, const std::string& value) {
  if (name == "--engine") return words_of<EngineKind>();
  if (name == "--flops") return words_of<AttentionFlops>();
  if (name == "--detail") return words_of<Detail>();
  if (name == "--by" && value == "NAME") return words_of<RankBy>();
  if (name == "question") return words_of<SolveFor>();
  if (name == "shell") return {"bash", "zsh", "fish"};
  const std::size_t open = value.find(":{");
  if (open == std::string::npos || !value.ends_with("}")) return {};
  std::vector<std::string> words;
  std::istringstream list(value.substr(open + 2, value.size() - open - 3));
  for (std::string word; std::getline(list, word, ',');) words.push_back(word);
  return words;
}

/// Those of the words that the help of an option mentions: not every command takes all of them.
std::vector<std::string> mentioned(const std::vector<std::string>& words, const std::string& help) {
  std::vector<std::string> found;
  for (const std::string& word : words)
    if (help.find(word) != std::string::npos) found.push_back(word);
  return found.empty() ? words : found;
}

std::vector<std::string> scenario_keys() {
  std::vector<std::string> keys;
  for (const Field& field : scenario_fields().fields())
    if (field.kind != FieldKind::group && field.path.find("[]") == std::string::npos)
      keys.push_back(field.path);
  return keys;
}

ValueKind kind_of(const std::string& value, const std::vector<std::string>& words) {
  if (value.empty()) return ValueKind::none;
  if (!words.empty()) return ValueKind::word;
  if (value.starts_with("KEY=") || value == "KEY") return ValueKind::key;
  if (value.find("DIR") != std::string::npos) return ValueKind::folder;
  for (const char* part : {"FILE", "SCENARIO", "CONFIG", "MODEL"})
    if (value.find(part) != std::string::npos) return ValueKind::file;
  return ValueKind::other;
}

TreeOption option_of(const CLI::Option& option) {
  TreeOption result;
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  result.help = option.get_description();
  result.required = option.get_required();
  result.many = option.get_items_expected_max() > 2;
  if (result.names.empty()) result.argument = option.get_name(true);
  if (option.get_items_expected_max() > 0) {
    const std::string value = option.get_type_name();
    const std::string name = result.names.empty() ? option.get_name(true) : result.names.front();
    result.words = mentioned(legal_words(name, value), result.help);
    result.value = value.substr(0, value.find(':'));
    result.kind = kind_of(result.value, result.words);
    if (result.kind == ValueKind::key) result.words = scenario_keys();
  }
  return result;
}

/// Takes the parts of a footer apart: notes, "Examples:" with indented lines, "Exit codes: ...".
void read_footer(const std::string& footer, TreeCommand& command) {
  std::istringstream lines(footer);
  bool examples = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "Examples:") {
      examples = true;
    } else if (line.starts_with("Exit codes: ")) {
      examples = false;
      command.exit_codes = line.substr(12);
    } else if (examples && line.starts_with("  ")) {
      command.examples.push_back(line.substr(2));
    } else if (!command.exit_codes.empty()) {
      command.exit_codes += " " + line;
    } else if (!line.empty()) {
      command.notes.push_back(line);
    }
  }
}

}  // namespace

TreeCommand command_tree(const CLI::App& app) {
  TreeCommand command;
  command.name = app.get_name();
  command.help = app.get_description();
  read_footer(app.get_footer(), command);
  for (const CLI::Option* option : app.get_options()) {
    TreeOption read = option_of(*option);
    (read.names.empty() ? command.arguments : command.options).push_back(std::move(read));
  }
  for (const CLI::App* child : app.get_subcommands(nullptr))
    command.commands.push_back(command_tree(*child));
  return command;
}

}  // namespace foretrain
